"""The keys of a config: their JSON Schema, and the check of a config, with errors of one line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator, ValidationError, validators

from ngo.common.devices import DEVICES
from ngo.common.fields import Schema, as_number, mapping_schema
from ngo.common.registry import UserError, nearest, shown, unknown_field
from ngo.data.dataset import DATASETS
from ngo.measures.measurement import MEASUREMENTS, Measurement
from ngo.training.spec import FIELDS, FINAL


def _pattern(pattern: str, description: str) -> Schema:
    """Text that a pattern matches from its first character to its last."""
    return {"type": "string", "pattern": rf"^{pattern}$(?!\n)", "description": description}


_TEXT: Schema = {"type": "string"}
_TIER = _pattern("[a-z0-9_-]+", "a name of a-z, 0-9, _ and -")
_ID = _pattern("[A-Za-z0-9_]+", "of letters, digits and _")
_NAME = _pattern("[A-Za-z0-9_. -]+", "of letters, digits, _, -, . and spaces")
_PATH = _pattern(r"[^\x00-\x1f\x7f\ud800-\udfff]+", "a path")
_ADDRESS = _pattern(
    "(https?://[!-~]+)?", "an address that begins with https:// or http://, or empty"
)
_SEED: Schema = {"type": "integer", "minimum": 0}


def config_schema(*, values: bool = False) -> Schema:
    """The schema of a config, with the entries that plugins have registered.

    Without ``values``, the values of runs and measurements are free: their own checks explain
    mistakes better.
    """
    run = {name: field.schema if values else True for name, field in FIELDS.items()}
    case = {name: _one_or_more(f"run/properties/{name}") if values else True for name in FIELDS}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": "The config of the pipeline. config/README.md explains every key.",
        **mapping_schema(
            {
                "paper": mapping_schema(_PAPER),
                "tier": _TIER,
                "device": {"enum": list(DEVICES)} if values else _TEXT,
                "threads": _whole(1, 1024),
                "seeds_per_job": _whole(1, 10**6),
                "plugins": _list(_TEXT, unique=True, least=0),
                "claims": _PATH,
                "findings": {**_PATH, "type": ["string", "null"], "description": "a path, or null"},
                "only": {
                    **_list(_TEXT, unique=True),
                    "type": ["array", "null"],
                    "description": "a list of names, of 1 or more, or null",
                },
                "resources": mapping_schema(
                    {"train": _resources_of_runs(), "measure": _ref("resources")}
                ),
                "data": mapping_schema({"root": _PATH}),
                "seeds": _ref("seeds"),
                "first_seed": _SEED,
                "defaults": _ref("run"),
                "settings": {
                    "type": "object",
                    "propertyNames": _NAME,
                    "additionalProperties": _ref("run"),
                },
                "training": _named(_training()),
                "universes": _named({**_universes(), "type": ["object", "null"]}),
                "partitions": _named(mapping_schema({"settings": _ref("names"), "seed": _SEED})),
                **{
                    name: _named(_measurement(entry, values))
                    for name, entry in MEASUREMENTS.items()
                },
                "artefacts": _named({"type": "object", "additionalProperties": _NUMBER}),
                "network": _named(mapping_schema(_NETWORK, optional=("slow", "slowdown"))),
            },
            optional=(*_OPTIONAL, *MEASUREMENTS),
        ),
        "$defs": {
            "id": _ID,
            "names": _list(_TEXT, unique=True),
            "seeds": _seeds("array", "integer"),
            "resources": mapping_schema(_RESOURCES),
            "run": mapping_schema(run, run),
            "case": mapping_schema(case, case),
        },
    }


def overlay_schema() -> Schema:
    """The schema of a config or an overlay, for editors.

    An overlay may leave out any key, and null leaves out an experiment.
    """

    def partial(part: Any) -> Any:
        if isinstance(part, list):
            return [partial(each) for each in part]
        if not isinstance(part, Mapping):
            return part
        found = {key: partial(value) for key, value in part.items() if key != "required"}
        return {**found, "type": ["object", "null"]} if found.get("type") == "object" else found

    return partial(config_schema(values=True))


def _resources_of_runs() -> Schema:
    """What a run requests: some data sets may need more memory than the others."""
    memory = {name: _RESOURCES["mem_mb"] for name in DATASETS}
    return mapping_schema(
        {**_RESOURCES, "mem_mb_of": mapping_schema(memory, memory)}, optional=("mem_mb_of",)
    )


def _training() -> Schema:
    step = {"anyOf": [_SEED, {"const": FINAL}]}
    return mapping_schema(
        {
            "settings": _ref("names"),
            "compare": _list(_ref("case")),
            "seeds": {
                **_seeds("array", "integer", "object"),
                "additionalProperties": _ref("seeds"),
                "description": "a list of seeds, their number, or a mapping of settings to these",
            },
            "snapshots": _list(step, unique=True),
        },
        optional=("seeds", "snapshots"),
    )


def _universes() -> Schema:
    """See ``pipeline.universes``."""
    interval = mapping_schema(
        {"from": _NUMBER, "to": _NUMBER, "log": {"type": "boolean"}}, optional=("log",)
    )
    factors: Schema = {"type": "object", "additionalProperties": _POSITIVE}
    return mapping_schema(
        {
            "settings": _ref("names"),
            "compare": _list(_ref("case")),
            "count": _whole(1, 10**5),
            "sobol_seed": _SEED,
            "seeds": _whole(1, 10**4),
            "evaluations": _whole(1, 10**4),
            "values": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"anyOf": [_list({}, unique=True), interval]},
            },
            "scale": {
                "type": "object",
                "additionalProperties": {"type": "object", "additionalProperties": factors},
            },
        },
        optional=("seeds", "evaluations", "scale"),
    )


def _measurement(entry: Measurement, values: bool) -> Schema:
    if values:
        return entry.schema
    own = {"setting": _TEXT} if entry.run_fields else {}
    return {"type": "object", "required": [*own], "properties": own}


def _named(entry: Schema) -> Schema:
    """A mapping of names of the user's own."""
    return {"type": "object", "propertyNames": _ref("id"), "additionalProperties": entry}


def _list(items: Schema, *, unique: bool = False, least: int = 1) -> Schema:
    bounds = {"minItems": least} if least else {}
    return {"type": "array", **bounds, **({"uniqueItems": True} if unique else {}), "items": items}


def _one_or_more(name: str) -> Schema:
    """A value, or a list of values, which expands into a grid."""
    return {"anyOf": [_ref(name), _list(_ref(name))]}


def _seeds(*types: str) -> Schema:
    """A list of seeds, or their number, from ``first_seed`` on."""
    return {
        "type": list(types),
        **{"items": _SEED, "minItems": 1, "minimum": 1, "maximum": 10**6},
        "description": "a list of seeds, or their number",
    }


def _whole(low: int, high: int) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


_OPTIONAL = ("paper", "plugins", "defaults", "findings", "only", "seeds_per_job",
             "first_seed", "network", "universes")  # fmt: skip
_RESOURCES: Schema = {"mem_mb": _whole(1, 10**9), "runtime": _whole(1, 10**6)}
_NUMBER: Schema = {"type": "number"}
_POSITIVE: Schema = {"type": "number", "exclusiveMinimum": 0}
_SECONDS: Schema = {"type": "number", "minimum": 0}
#: See ``pipeline.paper.Paper``.
_PAPER: Schema = {
    "name": _ID,
    "title": _TEXT,
    "authors": _TEXT,
    "address": _ADDRESS,
    "claim": _TEXT,
}
#: See ``analysis.network_time.NetworkModel``.
_NETWORK: Schema = {
    "latency": _SECONDS,
    "bandwidth": _POSITIVE,
    "step": _SECONDS,
    "slow": {"type": "number", "minimum": 0, "maximum": 1},
    "slowdown": {"type": "number", "minimum": 1},
}


def check_schema(config: Mapping) -> None:
    """Raise a UserError for the first value in the config that its schema does not allow."""
    errors = sorted(_Validator(config_schema()).iter_errors(config), key=lambda e: e.json_path)
    if errors:
        raise UserError(_in_one_line(errors[0]))


# By default, 2.0 is a whole number, and NaN is a number within all bounds.
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
        if FIELDS.keys() <= known.keys():
            return str(unknown_field(key, name, known))
        return (
            f"{key}: {shown(name)} is unknown; allowed: {', '.join(known)}.{nearest(name, known)}"
        )
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in value)
        base = " An overlay goes after its base, config/config.yaml." if key == "config" else ""
        return f"{key}: {missing!r} is missing.{base}"
    if error.validator == "uniqueItems":
        return f"{key}: {shown(value)} repeats a value; name each one once."
    what = "the name " if "propertyNames" in error.schema_path else ""
    allowed = _Validator(error.schema).is_valid
    hint = as_number(value, allowed) if error.validator == "type" else ""
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
