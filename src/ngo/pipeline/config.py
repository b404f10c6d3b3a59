"""Config files: a base with its overlays, and the checks before a plan is made of it.

A config passes here once: it is read and merged, its plugins are imported, the entries that it
leaves out go, and its schema is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from logging import getLogger
from pathlib import Path

from ngo.common import plugins
from ngo.common.fields import LARGEST
from ngo.measures.measurement import MEASUREMENTS
from ngo.pipeline.config_schema import check_schema
from verdicts.files import read_mapping
from verdicts.registry import UserError, check, one_of, shown

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
            raise UserError(
                f"{key}: it is nested more than {DEEPEST} levels deep, or holds itself."
            )
        if isinstance(value, int) and abs(value) > LARGEST:
            raise UserError(
                f"{key or 'config'}: {shown(value)} is too large; whole numbers are below 2^63."
            )


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
    kept = dict(config)
    for kind, entries in sections.items():
        on_models = kind in MEASUREMENTS and MEASUREMENTS[kind].on_models
        out = untrained if on_models else ()
        kept[kind] = {
            name: entry
            for name, entry in entries.items()
            if entry is not None and name in only and name not in out
        }
    return kept
