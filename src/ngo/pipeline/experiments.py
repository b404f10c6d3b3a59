"""From the experiments of a config to their runs: lists of values expand into a grid.

The section ``universes`` samples values: from a list of equally likely choices, or a range of
numbers. The first k points of a scrambled Sobol sample are k universes, so a smaller count leaves
out the last ones. All entries have the same seeds in universe k. Its values replace those of
the setting, and a compared case replaces its values. A method, topology or partition ignores values
that it does not read; a value that no run reads has no column.

Light: the workflow imports this module at every start; scipy is imported where a config has
universes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from ngo.analysis.universes import READ_AS, Universe
from ngo.common.fields import checked, unknown_field
from ngo.training.spec import FIELDS, RunSpec
from ngo.training.spec_checks import check_field, resolve
from verdicts.registry import UserError, as_list, one_of, shown, unknown

# The most runs of an experiment, or of all its universes; repeated ones count.
MOST_RUNS = 100_000

#: What the name of an entry's tidy table begins with.
PREFIX = "universes_"

#: Sampled numbers that need not be whole have so many significant digits.
DIGITS = 3


def experiments(config: Mapping) -> tuple[dict[str, dict[RunSpec, str]], dict[str, list[Universe]]]:
    """The runs of each experiment, with their settings, and the universes of those that have some.

    Raises a UserError for the first mistake.
    """
    check_fields("defaults", config.get("defaults", {}))
    for name, setting in config["settings"].items():
        check_fields(f"settings.{name}", setting)
    runs = {
        name: training_runs(f"training.{name}", config, entry)
        for name, entry in config["training"].items()
    }
    universes = {}
    for name, entry in config.get("universes", {}).items():
        runs[PREFIX + name], universes[PREFIX + name] = sampled_runs(name, config, entry)
    for name, entry in config.get("unstated", {}).items():
        check_sample(f"unstated.{name}", entry)
        check_fields(f"unstated.{name}.fixed", entry.get("fixed", {}))
    return runs, universes


def training_runs(key: str, config: Mapping, entry: Mapping) -> dict[RunSpec, str]:
    """The runs of one experiment, each once, with the first setting that has it.

    They are settings × compared cases × seeds; a list in a case expands to one case for each of its
    values.
    """
    runs: dict[RunSpec, str] = {}
    seeds = _seeds_by_setting(key, config, entry)
    cases = sum(prod(len(as_list(value)) for value in case.values()) for case in entry["compare"])
    size = cases * sum(map(len, seeds.values())) * entry.get("count", 1)
    if size > MOST_RUNS:  # it is counted, not expanded
        raise UserError(f"{key}: its grid has {size:,} runs; the limit is {MOST_RUNS:,}.")
    for name, setting in named_settings(key, config, entry["settings"]).items():
        for index, case in enumerate(entry["compare"]):
            place = f"{key}.compare[{index}]"
            for values in expanded(place, case):
                # What is checked does not depend on the seed.
                spec = resolve_run(place, {**values, "seed": seeds[name][0]}, config, setting)
                for seed in seeds[name]:
                    runs.setdefault(replace(spec, seed=check_field("seed", seed)), name)
    return runs


def expanded(key: str, case: Mapping) -> list[dict]:
    """The grid of a case: every combination of the values in its lists."""
    check_fields(key, case)
    lists = {name: as_list(value) for name, value in case.items()}
    return [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]


def named_settings(key: str, config: Mapping, names: list[str]) -> dict[str, Mapping]:
    """The settings with these names; a UserError for a name that does not exist."""
    known = config["settings"]
    return {name: known[one_of(f"{key}.settings", name, known)] for name in names}


def check_fields(key: str, values: Mapping) -> None:
    """Raise a UserError for the first value that a field of a run can't have."""
    for name, value in values.items():
        if name not in FIELDS:
            raise unknown_field(key, name, FIELDS)
        if value == []:
            raise UserError(f"{key}.{name}: [] is empty; give one value or more.")
        for item in as_list(value):
            checked(f"{key}: {name}", item, FIELDS[name])


def resolve_run(key: str, given: Mapping, config: Mapping, setting: Mapping) -> RunSpec:
    """The run with the values ``given``, then of the setting, then of the config's defaults.

    All others have the package's defaults, as in ``ngo train`` and ``fit``.
    """
    try:
        return resolve(given, {**config.get("defaults", {}), **setting})
    except UserError as error:
        raise UserError(f"{key}: {error}") from None


def _seeds_by_setting(key: str, config: Mapping, entry: Mapping) -> dict[str, Sequence[int]]:
    """The seeds of each of an experiment's settings: a list, or a count from ``first_seed`` on."""
    names, given = entry["settings"], entry.get("seeds", {})
    by_setting = given if isinstance(given, Mapping) else dict.fromkeys(names, given)
    for name in by_setting:
        one_of(f"{key}.seeds", name, names)
    first = config.get("first_seed", 0)
    return {name: _seeds(by_setting.get(name, config["seeds"]), first) for name in names}


def _seeds(given: int | list[int], first: int) -> Sequence[int]:
    if isinstance(given, int):
        return range(first, first + given)
    if repeated := sorted({seed for seed in given if given.count(seed) > 1}):
        raise UserError(f"seeds: {given} repeats {repeated[0]}; name each seed once.")
    return given


def sampled_runs(
    name: str, config: Mapping, entry: Mapping
) -> tuple[dict[RunSpec, str], list[Universe]]:
    """The runs of an entry, with their settings, and its universes; a UserError for a mistake."""
    key, first = f"universes.{name}", config.get("first_seed", 0)
    if PREFIX + name in config["training"]:
        raise UserError(f"{key}: training has an entry {PREFIX + name!r}; choose another name.")
    settings = named_settings(key, config, entry["settings"])
    seeds = entry.get("seeds", 1)
    sampled: dict[RunSpec, str] = {}
    universes, read = [], {*READ_AS}
    for number, values in enumerate(sample(key, entry)):
        fields = _fields(values, entry)
        there = {
            "settings": {chosen: {**setting, **fields} for chosen, setting in settings.items()},
            "first_seed": first + number * seeds,
        }
        given = {**entry, "seeds": seeds}
        runs = training_runs(f"{key}, universe {number}", {**config, **there}, given)
        sampled = runs | sampled
        universes.append(Universe(number, values, tuple(spec.id for spec in runs)))
        read |= {name for name in fields if name not in read and _reads(name, fields, entry, runs)}
    kept = [name for name in entry["values"] if name in read]
    return sampled, [
        replace(universe, values={name: universe.values[name] for name in kept})
        for universe in universes
    ]


def _reads(name: str, fields: Mapping, entry: Mapping, runs: Iterable[RunSpec]) -> bool:
    """Whether a run has the value of its universe, and not one of its case."""
    return any(
        getattr(spec, name) == fields[name]
        and all(getattr(spec, key) in as_list(value) for key, value in case.items())
        for case in entry["compare"]
        if name not in case
        for spec in runs
    )


def check_sample(key: str, entry: Mapping) -> None:
    """Raise a UserError for a value that no run can have, and for a wrong ``scale``."""
    for name, given in entry["values"].items():
        _check_value(f"{key}.values", name, given)
    _check_scale(f"{key}.scale", entry)


def sample(key: str, entry: Mapping) -> list[dict[str, object]]:
    """The values of each universe; a UserError for a value that no run can have."""
    check_sample(key, entry)
    values = entry["values"]
    from scipy.stats import qmc

    power = math.ceil(math.log2(max(2, entry["count"])))
    points = qmc.Sobol(len(values), rng=entry["sobol_seed"]).random_base2(power)
    names = sorted(values)  # in whatever order the config has them
    return [
        {name: _value(name, values[name], u) for name, u in zip(names, point, strict=True)}
        for point in points[: entry["count"]].tolist()
    ]


def _value(name: str, given: list | Mapping, u: float) -> object:
    """The value at ``u`` in [0, 1) of its choices or its range."""
    if isinstance(given, list):
        return given[int(u * len(given))]
    low, high = given["from"], given["to"]
    x = low * (high / low) ** u if given.get("log") else low + u * (high - low)
    return round(x) if FIELDS[name].kind is int else _rounded(x)


def _rounded(x: float) -> float:
    return float(f"{x:.{DIGITS}g}")


def _fields(values: Mapping[str, object], entry: Mapping) -> dict[str, object]:
    """The fields of a universe's runs: scaled where the entry says so, and evaluated so often."""
    fields = {name: value for name, value in values.items() if name not in READ_AS}
    for name, by in entry.get("scale", {}).items():
        for field, factors in by.items():
            factor = factors.get(fields.get(field), 1)
            fields[name] = _rounded(fields[name] * factor)
    if "evaluations" in entry and "epochs" in fields:
        fields["eval_every"] = fields["epochs"] / entry["evaluations"]
    return fields


def _check_value(key: str, name: str, given: list | dict) -> None:
    """Raise unless ``given`` is a list of choices, or a range of numbers, that the field allows."""
    if name in READ_AS:
        for choice in as_list(given):
            one_of(f"{key}.{name}", choice, READ_AS[name])
    elif name not in FIELDS or name == "seed":
        known = [*READ_AS, *(field for field in FIELDS if field != "seed")]
        raise unknown_field(key, name, known)
    elif isinstance(given, list):
        check_fields(key, {name: given})
    elif FIELDS[name].kind not in (int, float):
        raise UserError(f"{key}.{name}: {shown(given)} is a range; {name} takes a list.")
    else:
        low, high = ends = [given["from"], given["to"]]
        check_fields(key, {name: ends})
        if not low < high:
            raise UserError(f"{key}.{name}: from {low:g} must be below to {high:g}.")
        if given.get("log") and low <= 0:
            raise UserError(f"{key}.{name}.log: it needs a range above 0; from is {low:g}.")


def _check_scale(key: str, entry: Mapping) -> None:
    """Raise unless each factor is of a sampled number, and depends on a sampled choice."""
    values = entry["values"]
    for name, by in entry.get("scale", {}).items():
        if name not in values or FIELDS[name].kind is not float:
            raise unknown(key, name, [n for n in values if n in FIELDS and FIELDS[n].kind is float])
        for field, factors in by.items():
            if not isinstance(values.get(field), list):
                lists = [sampled for sampled in values if isinstance(values[sampled], list)]
                raise unknown(f"{key}.{name}", field, lists)
            for choice in factors:
                if choice not in values[field]:
                    raise unknown(f"{key}.{name}.{field}", choice, map(str, values[field]))
