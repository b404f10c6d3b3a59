"""The versions of the libraries that decide the results of runs.

Of each, the public version counts: ``2.15.0`` of ``2.15.0+cu132``, which names a build.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

#: Random graphs; data and partitions; decoded images; training; the architecture of ResNet-18.
LIBRARIES = ("networkx", "numpy", "pillow", "torch", "torchvision")

#: What becomes of runs of different versions in one table: the first by default.
MIXED = ("refuse", "tell")


@cache
def installed() -> Mapping[str, str]:
    """The versions of these libraries here, found without importing them."""
    from importlib.metadata import version

    return {name: public(version(name)) for name in LIBRARIES}


def public(version: str) -> str:
    """A version without the name of its build."""
    return version.partition("+")[0]


def recorded(record: Mapping) -> dict[str, str]:
    """The versions in the record of a run (``run.json``); older records have some of them."""
    found = record.get("versions")
    found = found if isinstance(found, Mapping) else {}
    return {name: public(str(found[name])) for name in LIBRARIES if name in found}


def others(record: Mapping) -> str:
    """``torch 2.14.0``: the recorded versions that are not those here; empty if there is none."""
    ours = installed()
    found = recorded(record).items()
    return ", ".join(f"{name} {version}" for name, version in found if version != ours[name])
