"""From a config to the table of runs.

Light: the workflow imports this module each time it is read; it imports no torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator, SchemaError, ValidationError, validators

from ngo.apart import pooled
from ngo.artefacts import ARTEFACTS
from ngo.devices import check_device
from ngo.fields import as_number
from ngo.measurements import MEASURES, check_entry
from ngo.registry import UserError, nearest, shown, unknown
from ngo.spec import FIELDS, FINAL, RunSpec, check, check_snapshots, resolve
from ngo.unique_keys import RepeatedKey, UniqueKeys

CONFIG = Path("config/config.yaml")
SCHEMA = Path("workflow/schemas/config.schema.yaml")

# Folders of results/ that all tiers share, or did: no tier has their names.
SHARED = ("runs", "partitions", "data", "metrics", "archive", "shipped")


@dataclass(frozen=True)
class Plan:
    """What a config asks for.

    At most ``runs_per_gpu`` runs share a GPU of one machine.
    ``training`` maps each experiment to its runs, ``partitions`` each artefact to runs that have
    the partitions it shows. ``snapshots`` are the steps after which a run's models are kept, by the
    run's id. ``measures`` maps the kinds of what is measured without training, or on kept models,
    to the flags of each artefact's measurement, and ``shown`` each artefact to its parameters.
    """

    tier: str
    device: str
    runs_per_gpu: int
    training: dict[str, list[RunSpec]]
    snapshots: dict[str, list[int | str]]
    partitions: dict[str, list[RunSpec]]
    measures: dict[str, dict[str, dict]]
    shown: dict[str, dict]

    @property
    def runs(self) -> dict[str, RunSpec]:
        """Every run once, by id."""
        return {spec.id: spec for runs in self.training.values() for spec in runs}

    @property
    def partition_runs(self) -> dict[str, RunSpec]:
        """For each partition, by id, a run that has it."""
        drawn = [spec for runs in self.partitions.values() for spec in runs]
        return {spec.partition_id: spec for spec in [*self.runs.values(), *drawn]}


def tiers(folder: str | Path = CONFIG.parent) -> list[list[Path]]:
    """The config files of each tier: the base alone, and with each overlay in ``folder``."""
    base = Path(folder, CONFIG.name)
    overlays = sorted(path for path in base.parent.glob("*.yaml") if path != base)
    return [[base], *([base, path] for path in overlays)]


def read_config(paths: Iterable[str | Path], key: str = "config") -> dict:
    """The config in ``paths``, later ones laid over earlier ones, mapping by mapping.

    Raises a UserError, under ``key``, for a file that is none.
    """
    config: dict = {}
    for path in paths:
        try:
            overlay = yaml.load(Path(path).read_text(encoding="utf-8"), UniqueKeys)
        except OSError as error:
            raise UserError(f"{key}: {str(path)!r} can't be read: {error.strerror}") from None
        except RepeatedKey as error:
            raise UserError(f"{key}: {str(path)!r}, {error}.") from None
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            problem = " ".join(str(error).split())
            raise UserError(f"{key}: {str(path)!r} is no YAML: {problem}") from None
        if not isinstance(overlay, dict):
            raise UserError(f"{key}: {str(path)!r} must be a mapping of keys to values")
        if config and config.keys() < overlay.keys():
            raise UserError(f"{key}: {str(path)!r} goes first, and what is laid over it after it.")
        config = _overlaid(config, overlay)
    return config


def plan(config: Mapping, schema: str | Path = SCHEMA) -> Plan:
    """The checked plan of a config; a UserError in one line if anything in it is wrong."""
    check_schema(config, schema)
    if config["tier"] in SHARED:
        raise UserError(
            f"tier: {config['tier']!r} is a folder of results/ that all tiers share; take another "
            f"name than {', '.join(SHARED)}."
        )
    check_device(config["device"])
    _check_fields("defaults", config["defaults"])
    for name, setting in config["settings"].items():
        _check_fields(f"settings.{name}", setting)
    training = {
        name: _unique(_training_runs(f"training.{name}", config, entry))
        for name, entry in config["training"].items()
    }
    for kind in MEASURES:
        for name, entry in config[kind].items():
            own = {key: value for key, value in entry.items() if key != "setting"}
            check_entry(f"{kind}.{name}", kind, own)
    partitions = {
        name: [
            _resolve(f"partitions.{name}", {"seed": entry["seed"]}, _defaults(config, setting))
            for setting in _settings(f"partitions.{name}", config, entry)
        ]
        for name, entry in config["partitions"].items()
    }
    throughput = {
        name: _throughput(f"throughput.{name}", config, entry)
        for name, entry in config["throughput"].items()
    }
    for name, entry in ARTEFACTS.items():
        if entry.apart is not None:
            _check_apart(f"training.{name}", training.get(name, ()), entry.apart)
            _check_apart(f"partitions.{name}", partitions.get(name, ()), entry.apart)
    measures = {name: dict(config[name]) for name in MEASURES}
    return Plan(
        config["tier"],
        config["device"],
        config.get("runs_per_gpu", 1),
        training,
        _snapshots(config, training),
        partitions,
        {**measures, "throughput": throughput},
        dict(config["artefacts"]),
    )


def _check_apart(key: str, specs: Iterable[RunSpec], apart: tuple[str, ...]) -> None:
    """Raise a UserError for two runs of one seed that their table or figure can't tell apart."""
    cells: dict[tuple, RunSpec] = {}
    for spec in specs:
        cell = tuple(getattr(spec, name) for name in (*apart, "seed"))
        if cells.setdefault(cell, spec) != spec:
            raise UserError(f"{key}: {pooled(apart, (cells[cell].id, spec.id))}")


def _snapshots(config: Mapping, training: Mapping[str, list[RunSpec]]) -> dict[str, list]:
    """The steps after which a run's models are kept, by the run's id: those of all experiments."""
    wanted: dict[str, set] = {}
    for name, entry in config["training"].items():
        for spec in training[name] if "snapshots" in entry else ():
            try:
                check_snapshots(spec, entry["snapshots"], spec.owned)
            except UserError as error:
                raise UserError(f"training.{name}.{error}") from None
            wanted.setdefault(spec.id, set()).update(entry["snapshots"])
    for section in ("alignment", "samples"):
        for name in config[section]:
            if "snapshots" not in config["training"].get(name, {}):
                raise UserError(f"{section}.{name}: training.{name} must be there, with snapshots.")
    return {
        run: sorted(steps, key=lambda step: (step == FINAL, step)) for run, steps in wanted.items()
    }


def _throughput(key: str, config: Mapping, entry: Mapping) -> dict:
    """The flags of a throughput measurement: its own, and those of NGO in its setting."""
    (setting,) = _settings(key, config, {"settings": [entry["setting"]]})
    given = {"seed": 0, "topology": "ring", "protocol": "ngo"}
    spec = _resolve(key, given, _defaults(config, setting))
    fields = ("dataset", "model", "task", "topology", "gamma", "p", "lr", "batch_size")
    own = {name: value for name, value in entry.items() if name != "setting"}
    return {**{name: getattr(spec, name) for name in fields}, **own}


def check_schema(config: Mapping, schema: str | Path = SCHEMA) -> None:
    """Raise a UserError for the first thing in the config that the schema does not allow."""
    rules = read_config([schema], "schema")
    try:
        _Validator.check_schema(rules)
    except SchemaError as error:
        raise UserError(f"schema: {str(schema)!r} is no JSON Schema: {error.message}.") from None
    errors = sorted(_Validator(rules).iter_errors(config), key=lambda e: e.json_path)
    if errors:
        raise UserError(_in_one_line(errors[0]))


def summary(plan: Plan) -> str:
    """How much a plan trains, in one line."""
    runs = plan.runs.values()
    samples = sum(spec.samples for spec in runs)
    plural = "" if len(plan.training) == 1 else "s"
    return (
        f"{len(runs)} runs of {len(plan.training)} experiment{plural} on "
        f"{len(plan.partition_runs)} partitions train {samples:,} samples"
    )


def overview(folder: str | Path = CONFIG.parent, schema: str | Path = SCHEMA) -> Iterator[str]:
    """A line for each tier of ``folder``, and for each other YAML file why it is none."""
    found: dict[str, Path] = {}
    for paths in tiers(folder):
        path = paths[-1]
        try:
            planned = plan(read_config(paths), schema)
            if planned.tier in found:
                raise UserError(f"tier: {planned.tier!r} is that of {found[planned.tier]}")
        except UserError as error:
            if len(paths) == 1:
                raise
            yield f"{path} is no tier by itself: {error}"
        else:
            found[planned.tier] = path
            yield f"{planned.tier}: {summary(planned)}"


def _training_runs(key: str, config: Mapping, entry: Mapping) -> list[RunSpec]:
    """The runs of one experiment: settings × compared cases × seeds."""
    seeds = entry.get("seeds", config["seeds"])
    if repeated := sorted({seed for seed in seeds if seeds.count(seed) > 1}):
        raise UserError(f"seeds: {seeds} repeats {repeated[0]}; each seed may be there once.")
    return [
        _resolve(f"{key}.compare[{index}]", {**values, "seed": seed}, _defaults(config, setting))
        for setting in _settings(key, config, entry)
        for index, case in enumerate(entry["compare"])
        for values in _grid(f"{key}.compare[{index}]", case)
        for seed in seeds
    ]


def _grid(key: str, case: Mapping) -> list[dict]:
    """A case with lists as the cases without: every combination of their values."""
    _check_fields(key, case)
    lists = {name: _as_list(value) for name, value in case.items()}
    return [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]


def _settings(key: str, config: Mapping, entry: Mapping) -> list[Mapping]:
    for name in entry["settings"]:
        if name not in config["settings"]:
            raise unknown(f"{key}.settings", name, config["settings"])
    return [config["settings"][name] for name in entry["settings"]]


def _defaults(config: Mapping, setting: Mapping) -> dict:
    return {**config["defaults"], **setting}


def _check_fields(key: str, values: Mapping) -> None:
    for name, value in values.items():
        if name not in FIELDS:
            raise unknown(key, name, FIELDS)
        if value == []:
            raise UserError(
                f"{key}.{name}: [] is empty, which leaves no run; give a value or more."
            )
        for item in _as_list(value):
            try:
                check(name, item)
            except UserError as error:
                raise UserError(f"{key}: {error}") from None


def _resolve(key: str, given: Mapping, defaults: Mapping) -> RunSpec:
    """The run, every value of which the config states: none comes from the package."""
    try:
        return resolve(given, defaults)
    except UserError as error:
        raise UserError(f"{key}: {error}") from None


def _unique(runs: list[RunSpec]) -> list[RunSpec]:
    return list({spec.id: spec for spec in runs}.values())


def _as_list(value: object) -> list:
    return value if isinstance(value, list) else [value]


def _overlaid(base: Mapping, overlay: Mapping) -> dict:
    """``base`` with the values of ``overlay``; mappings are merged, all else is replaced."""
    merged = dict(base)
    for key, value in overlay.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _overlaid(merged[key], value) if both else value
    return merged


# JSON Schema takes 2.0 for a whole number, and NaN for a number within all bounds.
_Validator = validators.extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many(
        {
            "integer": lambda _, value: type(value) is int,
            "number": lambda _, value: (
                type(value) is int or (type(value) is float and math.isfinite(value))
            ),
        }
    ),
)


def _in_one_line(error: ValidationError) -> str:
    key = error.json_path.removeprefix("$").removeprefix(".") or "config"
    value = error.instance
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        name = next(name for name in value if name not in known)
        return f"{key}: {name!r} is unknown; allowed: {', '.join(known)}.{nearest(name, known)}"
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in value)
        return f"{key}: {missing!r} is missing."
    if error.validator == "uniqueItems":
        return f"{key}: {shown(value)} repeats a value; each may be there once."
    what = "the name " if "propertyNames" in error.schema_path else ""
    hint = as_number(value) if error.validator == "type" else ""
    return f"{key}: {what}{shown(value)} is not allowed; it must be {_wanted(error.schema)}.{hint}"


_TYPES = {
    "object": "a mapping of keys to values",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}

_BOUNDS = {
    "minimum": "{} or more",
    "exclusiveMinimum": "above {}",
    "maximum": "{} or less",
    "exclusiveMaximum": "below {}",
    "minItems": "of {} or more",
    "maxItems": "of {} or less",
}


def _wanted(schema: Mapping) -> str:
    """What a part of the schema allows, in words: its description, if it has one."""
    if "anyOf" in schema:
        return ", or ".join(map(_wanted, schema["anyOf"]))
    if "const" in schema:
        return repr(schema["const"])
    bounds = [words.format(schema[name]) for name, words in _BOUNDS.items() if name in schema]
    return schema.get("description") or ", ".join([_TYPES[schema["type"]], *bounds])
