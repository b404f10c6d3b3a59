"""The JSON Schema of a config, from the definitions of its fields and measurements."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import yaml

from ngo.common.devices import DEVICES
from ngo.common.versions import MIXED
from ngo.data.dataset import DATASETS
from ngo.measures.measurement import MEASUREMENTS, Measurement
from ngo.measures.section import entry_schema
from ngo.training.spec import FIELDS, FINAL

SCHEMA = Path("workflow/schemas/config.schema.yaml")

Schema = dict[str, object]

HEADER = """\
# Written by `make schema` from the definitions of runs (ngo.training.spec), of measurements
# (ngo.measures), and of the config's other keys (ngo.pipeline.schema).
"""

_TEXT: Schema = {"type": "string"}
_SEED: Schema = {"type": "integer", "minimum": 0}
_ID: Schema = {
    "type": "string",
    "pattern": r"^[A-Za-z0-9_]+$(?!\n)",
    "description": "of letters, digits and _",
}


_NAME: Schema = {
    "type": "string",
    "pattern": r"^[A-Za-z0-9_. -]+$(?!\n)",
    "description": "of letters, digits, _, -, . and spaces",
}
_PATH: Schema = {
    "type": "string",
    "pattern": r"^[^\x00-\x1f\x7f\ud800-\udfff]+$(?!\n)",
    "description": "a path",
}


def config_schema(*, values: bool = True) -> Schema:
    """The schema of a config, with the entries that plugins have registered.

    Without ``values``, the values of runs and measurements are free: their own checks explain
    mistakes better.
    """
    run = {name: field.schema if values else True for name, field in FIELDS.items()}
    case = {name: _one_or_more(f"run/properties/{name}") if values else True for name in FIELDS}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": "The config of the pipeline. config/README.md explains every key.",
        **_mapping(
            {
                "tier": {
                    "type": "string",
                    "pattern": r"^[a-z0-9_-]+$(?!\n)",
                    "description": "a name of a-z, 0-9, _ and -",
                },
                "device": {"enum": list(DEVICES)} if values else _TEXT,
                "runs_per_gpu": _whole(1, 1024),
                "threads": _whole(1, 1024),
                "warm": {"type": "boolean"},
                "plugins": _list(_TEXT, unique=True, least=0),
                "claims": _PATH,
                "findings": _PATH,
                "mixed_versions": {"enum": list(MIXED), "description": " or ".join(MIXED)},
                "only": _ref("names"),
                "resources": _mapping(
                    {"train": _resources_of_runs(), "measure": _ref("resources")}
                ),
                "data": _mapping({"root": _PATH}),
                "seeds": _ref("seeds"),
                "defaults": _ref("run"),
                "settings": {
                    "type": "object",
                    "propertyNames": _NAME,
                    "additionalProperties": _ref("run"),
                },
                "training": _named(_training()),
                "partitions": _named(_mapping({"settings": _ref("names"), "seed": _SEED})),
                **{
                    name: _named(_measurement(entry, values))
                    for name, entry in MEASUREMENTS.items()
                },
                "artefacts": _named(_mapping(_SHOWN, required=())),
                "network": _named(_mapping(_NETWORK, optional=("slow", "slowdown"))),
            },
            optional=(
                "runs_per_gpu",
                "plugins",
                "defaults",
                "claims",
                "findings",
                "mixed_versions",
                "only",
                "network",
                *MEASUREMENTS,
            ),
        ),
        "$defs": {
            "id": _ID,
            "names": _list(_TEXT, unique=True),
            "seeds": _seeds("array", "integer"),
            "resources": _mapping(_RESOURCES),
            "run": _mapping(run, required=()),
            "case": _mapping(case, required=()),
        },
    }


def as_yaml() -> str:
    """The text of the schema's file."""
    schema = json.loads(json.dumps(config_schema()))  # parts that are used twice are written twice
    return HEADER + yaml.safe_dump(schema, sort_keys=False, allow_unicode=True, width=100)


def _resources_of_runs() -> Schema:
    """What a run requests: some data sets may need more memory than the others."""
    by_dataset = _mapping({name: _RESOURCES["mem_mb"] for name in DATASETS}, required=())
    return _mapping({**_RESOURCES, "mem_mb_of": by_dataset}, optional=("mem_mb_of",))


def _training() -> Schema:
    step = {"anyOf": [_SEED, {"const": FINAL}]}
    return _mapping(
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


def _measurement(entry: Measurement, values: bool) -> Schema:
    if values:
        return entry_schema(entry)
    own = {"setting": _TEXT} if entry.run_fields else {}
    return {"type": "object", "required": [*own], "properties": own}


def _mapping(
    properties: Mapping[str, object],
    *,
    required: tuple[str, ...] | None = None,
    optional: tuple[str, ...] | list[str] = (),
) -> Schema:
    """A mapping with these keys and no others; all are required but the ``optional`` ones."""
    needed = [key for key in properties if key not in optional] if required is None else required
    return {
        "type": "object",
        "additionalProperties": False,
        **({"required": list(needed)} if needed else {}),
        "properties": dict(properties),
    }


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
    """A list of seeds, or a number n for the seeds 0 … n − 1."""
    return {
        "type": list(types),
        **{"items": _SEED, "minItems": 1, "minimum": 1, "maximum": 10**6},
        "description": "a list of seeds, or their number",
    }


def _whole(low: int, high: int) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


_RESOURCES: Schema = {"mem_mb": _whole(1, 10**9), "runtime": _whole(1, 10**6)}
_SHARE: Schema = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
_LOSS: Schema = {"type": "number", "exclusiveMinimum": 0}
_PERCENT: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": 100}
_SECONDS: Schema = {"type": "number", "minimum": 0}
#: See ``analysis.network_time.NetworkModel``.
_NETWORK: Schema = {
    "latency": _SECONDS,
    "bandwidth": {"type": "number", "exclusiveMinimum": 0},
    "step": _SECONDS,
    "slow": {"type": "number", "minimum": 0, "maximum": 1},
    "slowdown": {"type": "number", "minimum": 1},
}
#: Parameters of the artefacts' notebooks.
_SHOWN: Schema = {
    "consensus_share": _SHARE,
    "target_loss_iid": _LOSS,
    "target_loss_noniid": _LOSS,
    "early_accuracy": _PERCENT,
    "late_accuracy": _PERCENT,
    "target_accuracy": _SHARE,
}
