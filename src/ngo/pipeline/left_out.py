"""Which experiments and measurements of a config are left out."""

from __future__ import annotations

from collections.abc import Mapping

from ngo.common.registry import unknown
from ngo.measures.measurement import MEASUREMENTS


def without_left_out(config: Mapping) -> dict:
    """The config without the entries that are None or that ``only`` leaves out.

    Measurements on models of experiments that are None are left out too.
    """
    kept = dict(config)
    training = config["training"] if isinstance(config.get("training"), Mapping) else {}
    sections = {
        kind: config[kind]
        for kind in ("training", "universes", "partitions", *MEASUREMENTS)
        if isinstance(config.get(kind), Mapping)
    }
    only = config.get("only")
    if isinstance(only, list):
        known = {name for entries in sections.values() for name in entries}
        for name in only:
            if not isinstance(name, str) or name not in known:
                raise unknown("only", name, known)
    for kind, entries in sections.items():
        needed = training if kind in MEASUREMENTS and MEASUREMENTS[kind].on_models else {}
        kept[kind] = {
            name: entry
            for name, entry in entries.items()
            if entry is not None
            and not (name in needed and needed[name] is None)
            and not (isinstance(only, list) and name not in only)
        }
    return kept
