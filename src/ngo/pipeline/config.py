"""Config files: a base with its overlays, and the checks before a plan is made of it.

A config passes here once: it is read and merged, its plugins are imported, the entries that it
leaves out go, and its keys are checked against a JSON Schema (``config_schema.yaml``), with errors
of one line. What the schema leaves free is checked elsewhere: the fields of runs by
``experiments``, those of measurements and networks as their classes declare them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from jsonschema import Draft202012Validator, ValidationError, validators

from ngo.analysis.network_time import NetworkModel
from ngo.common import plugins
from ngo.common.fields import LARGEST, as_number, from_mapping
from ngo.common.registries import DATASETS
from ngo.measures.measurement import MEASUREMENTS
from verdicts.files import read_mapping
from verdicts.registry import UserError, check, nearest, one_of, shown


def read_config(paths: Iterable[str | Path]) -> dict:
    """The config in ``paths``: mappings of later files are merged into those of earlier ones.

    Raises a UserError for a file that is not a config.
    """
    config: dict = {}
    for path in paths:
        overlay = read_mapping(path, "config")
        if config and config.keys() - {"only"} < overlay.keys():
            raise UserError(f"config: {str(path)!r} is a base; name it before its overlays.")
        config = _overlaid(config, overlay)
    return config


def checked(config: Mapping) -> tuple[dict, dict]:
    """A config as the plan reads it, and the same with the entries that it leaves out.

    The plugins are imported first: they register names. Raises a UserError for the first mistake.
    """
    check_size(config)
    plugins.load(plugin_files(config))
    kept = without_left_out(config)
    check_schema(kept)
    return kept, dict(config)


def _overlaid(base: Mapping, overlay: Mapping) -> dict:
    """``base`` with the values of ``overlay``; mappings are merged, all else is replaced."""
    merged = dict(base)
    for key, value in overlay.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _overlaid(merged[key], value) if both else value
    return merged


def check_size(config: Mapping) -> None:
    """Raise a UserError for a huge whole number: Python does not print thousands of digits."""
    for key, value in values_in(config):
        if isinstance(value, int) and abs(value) > LARGEST:
            fault = f"{shown(value)} is too large; whole numbers are below 2^63"
            raise UserError(f"{key or 'config'}: {fault}.")


def values_in(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    """The key and the value of everything in a config, names in mappings included."""
    yield key, value
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield key, name
            text = name if isinstance(name, str) else shown(name)
            yield from values_in(below, f"{key}.{text}".lstrip("."))
    elif isinstance(value, list):
        for k, item in enumerate(value):
            yield from values_in(item, f"{key}[{k}]")


def plugin_files(config: Mapping) -> list[str]:
    """The plugins that a config names; a UserError if that is no list of files."""
    paths = config.get("plugins", [])
    right = isinstance(paths, list) and all(isinstance(path, str) for path in paths)
    check(right, "plugins", paths, "it must be a list of files")
    return paths


def without_left_out(config: Mapping) -> dict:
    """The config without the entries that are None or missing in the list ``only``.

    Measurements on the models of an experiment go with it.
    """
    kinds = ("training", "universes", "partitions", *MEASUREMENTS)
    sections = {kind: config[kind] for kind in kinds if isinstance(config.get(kind), Mapping)}
    known = {name for entries in sections.values() for name in entries}
    stated = config.get("only")
    only = [one_of("only", name, known) for name in stated] if isinstance(stated, list) else known
    untrained = {name for name, entry in sections.get("training", {}).items() if entry is None}
    kept = {}
    for kind, entries in sections.items():
        out = untrained if kind in MEASUREMENTS and MEASUREMENTS[kind].on_models else ()
        stay = {name: entry for name, entry in entries.items() if name in only and name not in out}
        kept[kind] = {name: entry for name, entry in stay.items() if entry is not None}
    return {**config, **kept}


#: The JSON Schema of configs.
SCHEMA = Path(__file__).with_name("config_schema.yaml")


def check_schema(config: Mapping) -> None:
    """Raise a UserError for a value that the config can't have; plugins' entries have keys, too."""
    schema = read_mapping(SCHEMA, "schema")
    sections = schema["properties"]
    resources = sections["resources"]["properties"]["train"]["properties"]
    resources["mem_mb_of"]["properties"] = dict.fromkeys(DATASETS, resources["mem_mb"])
    sections |= dict.fromkeys(MEASUREMENTS, schema["$defs"]["measurements"])
    errors = sorted(_Validator(schema).iter_errors(config), key=lambda error: error.json_path)
    if errors:
        raise UserError(_in_one_line(errors[0]))
    for name, network in config.get("network", {}).items():
        from_mapping(NetworkModel, network, f"network.{name}")


# By default, 2.0 is a whole number, and NaN is a number within all bounds.
_NUMBERS = {
    "integer": lambda _, x: type(x) is int,
    "number": lambda _, x: type(x) is int or (type(x) is float and math.isfinite(x)),
}
_TYPES = Draft202012Validator.TYPE_CHECKER.redefine_many(_NUMBERS)
_Validator = validators.extend(Draft202012Validator, type_checker=_TYPES)


def _in_one_line(error: ValidationError) -> str:
    key = error.json_path.removeprefix("$").removeprefix(".") or "config"
    value, kind = error.instance, error.validator
    if kind == "additionalProperties":
        known = error.schema.get("properties", {})
        name = next(name for name in value if name not in known)
        wrong = f"{key}: {shown(name)} is unknown; allowed: {', '.join(known)}"
        return f"{wrong}.{nearest(name, known)}"
    if kind == "required":
        missing = next(name for name in error.validator_value if name not in value)
        base = " An overlay goes after its base, config/config.yaml." if key == "config" else ""
        return f"{key}: {missing!r} is missing.{base}"
    if kind == "uniqueItems":
        return f"{key}: {shown(value)} repeats a value; name each one once."
    wanted = error.schema["description"]
    what = "the name " if "propertyNames" in error.schema_path else ""
    hint = as_number(value, _Validator(error.schema).is_valid) if kind == "type" else ""
    return f"{key}: {what}{shown(value)} is not allowed; it must be {wanted}.{hint}"
