"""Config files: a base with its overlays, and the checks before a plan is made of it.

A config passes here once: it is read and merged, its plugins are imported, the entries that it
leaves out go, and its keys are checked against a JSON Schema, with errors of one line.

The description of a schema says what is allowed. What it leaves free is checked elsewhere: the
fields of runs by ``experiments``, those of measurements and networks as their classes declare them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from logging import getLogger
from operator import itemgetter
from pathlib import Path

from jsonschema import Draft202012Validator, ValidationError, validators

from ngo.analysis.network_time import NetworkModel
from ngo.common import plugins
from ngo.common.fields import LARGEST, as_number, from_mapping
from ngo.common.registries import DATASETS
from ngo.measures.measurement import MEASUREMENTS
from ngo.training.spec import FINAL
from verdicts.files import read_mapping
from verdicts.registry import UserError, check, nearest, one_of, shown

LOG = getLogger("ngo")

# Levels of a config; the package's own have 5.
DEEPEST = 20

#: How the names of overlays with added seeds start: ``decide-TIER.yaml``, beside the tier's.
SEEDS = "decide-"


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
    whole = without_gone(config)
    plugins.load(plugin_files(whole))
    kept = without_left_out(whole)
    check_schema(kept)
    return kept, whole


def _overlaid(base: Mapping, overlay: Mapping) -> dict:
    """``base`` with the values of ``overlay``; mappings are merged, all else is replaced."""
    merged = dict(base)
    for key, value in overlay.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _overlaid(merged[key], value) if both else value
    return merged


#: Keys of earlier releases, and what stands in their place.
GONE = {
    "warm": "runs that take seconds share a job",
    "runs_per_gpu": "snakemake --resources gpu=N says how many jobs run on GPUs at a time",
    "mixed_versions": "runs that other versions of the libraries made are trained again",
}


def without_gone(config: Mapping) -> dict:
    """The config without the keys of earlier releases; a line says what replaces each."""
    for key in GONE.keys() & config.keys():
        LOG.warning("note: config: %s is no key any more: %s", key, GONE[key])
    return {key: value for key, value in config.items() if key not in GONE}


def check_size(config: Mapping) -> None:
    """Raise a UserError for a huge whole number, and for a config that is nested too deep.

    Python does not print thousands of digits, and a list may hold itself, by an alias.
    """
    for key, depth, value in values_in(config):
        if depth > DEEPEST:
            fault = f"it is nested more than {DEEPEST} levels deep, or holds itself"
            raise UserError(f"{key}: {fault}.")
        if isinstance(value, int) and abs(value) > LARGEST:
            fault = f"{shown(value)} is too large; whole numbers are below 2^63"
            raise UserError(f"{key or 'config'}: {fault}.")


def values_in(config: object) -> Iterator[tuple[str, int, object]]:
    """The key, the level and the value of everything in a config, names in mappings included.

    The levels of a list that holds itself have no end.
    """
    waiting = [("", 0, config)]
    while waiting:
        key, depth, value = waiting.pop()
        yield key, depth, value
        if isinstance(value, Mapping):
            for name, below in value.items():
                text = name if isinstance(name, str) else shown(name)
                waiting.append((f"{key}.{text}".lstrip("."), depth + 1, below))
                waiting.append((key, depth + 1, name))
        elif isinstance(value, list):
            waiting += [(f"{key}[{k}]", depth + 1, item) for k, item in enumerate(value)]


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
    on_models = {kind for kind, entry in MEASUREMENTS.items() if entry.on_models}
    kept = {
        kind: {
            name: entry
            for name, entry in entries.items()
            if entry is not None and name in only and not (kind in on_models and name in untrained)
        }
        for kind, entries in sections.items()
    }
    return {**config, **kept}


Schema = dict[str, object]


_MAPPING: Schema = {"type": "object", "description": "a mapping of keys to values"}


def _mapping(properties: Mapping[str, object]) -> Schema:
    """A mapping with these keys and no others; ``name?`` is optional."""
    return {
        **_MAPPING,
        "additionalProperties": False,
        "required": [key for key in properties if not key.endswith("?")],
        "properties": {key.removesuffix("?"): schema for key, schema in properties.items()},
    }


def _named(entry: object, names: object = None) -> Schema:
    """A mapping of names of the user's own."""
    return {**_MAPPING, "propertyNames": names or _ID, "additionalProperties": entry}


def _pattern(pattern: str, description: str) -> Schema:
    """Text that a pattern matches from its first character to its last."""
    return {"type": "string", "pattern": rf"^{pattern}$(?!\n)", "description": description}


def _list(items: object, description: str = "a list, of 1 or more", **more: object) -> Schema:
    return {"type": "array", "minItems": 1, "items": items, "description": description, **more}


def _whole(low: int, high: int) -> Schema:
    described = f"a whole number, {low} or more, {high:,} or less"
    return {"type": "integer", "minimum": low, "maximum": high, "description": described}


def _either(*schemas: Schema) -> Schema:
    return {"anyOf": schemas, "description": ", or ".join(map(itemgetter("description"), schemas))}


def _or_null(schema: Schema, description: str) -> Schema:
    return {**schema, "type": [schema["type"], "null"], "description": description}


_TEXT: Schema = {"type": "string", "description": "text"}
_BOOLEAN: Schema = {"type": "boolean", "description": "true or false"}
_NUMBER: Schema = {"type": "number", "description": "a number"}
_POSITIVE = {**_NUMBER, "exclusiveMinimum": 0, "description": "a number above 0"}
_SEED: Schema = {"type": "integer", "minimum": 0, "description": "a whole number, 0 or more"}
_ID = _pattern("[A-Za-z0-9_]+", "of letters, digits and _")
_NAME = _pattern("[A-Za-z0-9_. -]+", "of letters, digits, _, -, . and spaces")
_PATH = _pattern(r"[^\x00-\x1f\x7f\ud800-\udfff]+", "a path")
_ADDRESS = _pattern("(https?://[!-~]+)?", "an address with https:// or http://, or empty")
_TEXTS = _list(_TEXT, uniqueItems=True)
#: A list of seeds, or their number, from ``first_seed`` on.
_SEEDS = _list(_SEED, "a list of seeds, or their number", minimum=1, maximum=10**6)
_SEEDS["type"] = ["array", "integer"]
_CASES = _list(_MAPPING)
#: See ``pipeline.paper_figures.Paper``.
_PAPER: Schema = {"name": _ID, "title": _TEXT, "authors": _TEXT, "address": _ADDRESS}
_PAPER["claim"] = _TEXT
_RESOURCES: Schema = {"mem_mb": _whole(1, 10**9), "runtime": _whole(1, 10**6)}
_TRAINING: Schema = {
    "settings": _TEXTS,
    "compare": _CASES,
    "seeds?": {
        **_SEEDS,
        **{"type": ["array", "integer", "object"], "additionalProperties": _SEEDS},
        "description": "a list of seeds, their number, or a mapping of settings to these",
    },
    "snapshots?": _list(_either(_SEED, _pattern(FINAL, repr(FINAL))), uniqueItems=True),
}
_INTERVAL = _mapping({"from": _NUMBER, "to": _NUMBER, "log?": _BOOLEAN})
_VALUES = _either(_list({}, uniqueItems=True), _INTERVAL)
#: See ``pipeline.experiments.sample``.
_SAMPLE: Schema = {
    "count": _whole(1, 10**5),
    "sobol_seed": _SEED,
    "values": {**_MAPPING, "minProperties": 1, "additionalProperties": _VALUES},
    "scale?": _named(_named(_named(_POSITIVE, True), True), True),
}
#: See ``pipeline.experiments``.
_UNIVERSES: Schema = {
    "settings": _TEXTS,
    "compare": _CASES,
    **_SAMPLE,
    "seeds?": _whole(1, 10**4),
    "evaluations?": _whole(1, 10**4),
}
#: See ``pipeline.candidates``.
_UNSTATED: Schema = {
    "paper": _ID,
    "table": _ID,
    "where?": _MAPPING,
    "runs": _TEXTS,
    "fixed?": _MAPPING,
    **_SAMPLE,
    "confirm?": _MAPPING,
    "claims?": _named(_MAPPING, _NAME),
}
_FILE = _pattern("[A-Za-z0-9_]{1,64}", "of at most 64 letters, digits and _")
#: See ``paper_figures.Artefact``.
_FIGURE: Schema = {
    "section": _TEXT,
    "reads?": _either(_TEXT, _named(_TEXT)),
    "figure?": _BOOLEAN,
    "tables?": _list(_FILE, uniqueItems=True),
    "reference?": _FILE,
    "apart?": _TEXTS,
    "values?": _named(_list(_NUMBER, "a list of 2", minItems=2, maxItems=2), _FILE),
    "asks?": _list(_pattern("(network|claims)", "network or claims")),
}
_CONFIG: Schema = {
    "paper?": _mapping(_PAPER),
    "tier": _pattern("[a-z0-9_-]+", "a name of a-z, 0-9, _ and -"),
    "device": _TEXT,
    "threads": _whole(1, 1024),
    "seeds_per_job?": _whole(1, 10**6),
    "plugins?": {**_TEXTS, "minItems": 0},
    "claims": _PATH,
    "findings?": _or_null(_PATH, "a path, or null"),
    "only?": _or_null(_TEXTS, "a list of names, of 1 or more, or null"),
    "data": _mapping({"root": _PATH}),
    "seeds": _SEEDS,
    "first_seed?": _SEED,
    "defaults?": _MAPPING,
    "settings": _named(_MAPPING, _NAME),
    "training": _named(_mapping(_TRAINING)),
    "universes?": _named(_mapping(_UNIVERSES)),
    "unstated?": _named(_mapping(_UNSTATED)),
    "partitions": _named(_mapping({"settings": _TEXTS, "seed": _SEED})),
    "figures?": _named(_or_null(_mapping(_FIGURE), "a mapping of keys to values, or null"), _FILE),
    "artefacts": _named(_named(_NUMBER, True)),
    "network?": _named(_MAPPING),
}


def check_schema(config: Mapping) -> None:
    """Raise a UserError for a value that the config can't have; plugins' entries have keys, too."""
    memory = {f"{name}?": _RESOURCES["mem_mb"] for name in DATASETS}
    train = _mapping({**_RESOURCES, "mem_mb_of?": _mapping(memory)})
    resources = _mapping({"train": train, "measure": _mapping(_RESOURCES)})
    measures = {f"{kind}?": _named(_MAPPING) for kind in MEASUREMENTS}
    schema = _mapping({**_CONFIG, "resources": resources, **measures})
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
