"""From the experiments of a config to their runs: lists of values expand into a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from ngo.common.registry import UserError, unknown, unknown_field
from ngo.training.spec import FIELDS, RunSpec
from ngo.training.validation import check_field, resolve

# The most runs that the experiments of a config may have, repeated ones included.
RUNS = 100_000


def experiments(config: Mapping) -> dict[str, dict[RunSpec, str]]:
    """The runs of each experiment, with their settings; a UserError if they are too many."""
    check_size(config)
    return {
        name: training_runs(f"training.{name}", config, entry)
        for name, entry in config["training"].items()
    }


def training_runs(key: str, config: Mapping, entry: Mapping) -> dict[RunSpec, str]:
    """The runs of one experiment, each once, with the first setting that has it.

    They are settings × compared cases × seeds; a list in a case expands to one case for each of its
    values.
    """
    found: dict[RunSpec, str] = {}
    seeds = _seeds_by_setting(key, config, entry)
    settings = named_settings(key, config, entry["settings"])
    for name, setting in zip(entry["settings"], settings, strict=True):
        for index, case in enumerate(entry["compare"]):
            place = f"{key}.compare[{index}]"
            for values in expanded(place, case):
                # What is checked does not depend on the seed.
                spec = resolve_run(place, {**values, "seed": seeds[name][0]}, config, setting)
                for seed in seeds[name]:
                    found.setdefault(replace(spec, seed=check_field("seed", seed)), name)
    return found


def check_size(config: Mapping) -> None:
    """Raise a UserError if the experiments of a config have more than RUNS runs.

    The grids are counted, not expanded.
    """
    total = 0
    sampled = {
        f"universes.{name}": {"seeds": 1, **each}
        for name, each in config.get("universes", {}).items()
    }
    trained = {f"training.{name}": each for name, each in config["training"].items()}
    for name, entry in {**trained, **sampled}.items():
        seeds = _seeds_by_setting(name, config, entry)
        cases = sum(
            prod(len(as_list(value)) for value in case.values()) for case in entry["compare"]
        )
        runs = cases * sum(map(len, seeds.values())) * entry.get("count", 1)
        total += runs
        if total > RUNS:
            raise UserError(
                f"{name}: its grid has {runs:,} runs, and the config {total:,} so far; "
                f"the limit is {RUNS:,}."
            )


def expanded(key: str, case: Mapping) -> list[dict]:
    """The grid of a case: every combination of the values in its lists."""
    check_fields(key, case)
    lists = {name: as_list(value) for name, value in case.items()}
    return [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]


def named_settings(key: str, config: Mapping, names: list[str]) -> list[Mapping]:
    """The settings with these names; a UserError for a name that does not exist."""
    for name in names:
        if name not in config["settings"]:
            raise unknown(f"{key}.settings", name, config["settings"])
    return [config["settings"][name] for name in names]


def check_fields(key: str, values: Mapping) -> None:
    """Raise a UserError for the first value that a field of a run can't have."""
    for name, value in values.items():
        if name not in FIELDS:
            raise unknown_field(key, name, FIELDS)
        if value == []:
            raise UserError(f"{key}.{name}: [] is empty; give one value or more.")
        for item in as_list(value):
            try:
                check_field(name, item)
            except UserError as error:
                raise UserError(f"{key}: {error}") from None


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
        if name not in names:
            raise unknown(f"{key}.seeds", name, names)
    first = config.get("first_seed", 0)
    return {name: _seeds(by_setting.get(name, config["seeds"]), first) for name in names}


def _seeds(given: int | list[int], first: int) -> Sequence[int]:
    if isinstance(given, int):
        return range(first, first + given)
    if repeated := sorted({seed for seed in given if given.count(seed) > 1}):
        raise UserError(f"seeds: {given} repeats {repeated[0]}; name each seed once.")
    return given


def as_list(value: object) -> list:
    """A list itself, and the list of any other value."""
    return value if isinstance(value, list) else [value]
