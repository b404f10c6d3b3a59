"""The versions of the libraries that decide the results of runs.

Only the public version counts: that of ``2.15.0+cu132``, a build, is ``2.15.0``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

#: They draw graphs, data and partitions, decode images, train, and define ResNet-18.
LIBRARIES = ("networkx", "numpy", "pillow", "torch", "torchvision")


@cache
def installed(libraries: tuple[str, ...] = LIBRARIES) -> Mapping[str, str]:
    """The installed versions of these libraries, found without importing them."""
    from importlib.metadata import version

    return {name: public(version(name)) for name in libraries}


def public(version: str) -> str:
    """A version without the name of its build."""
    return version.partition("+")[0]


def recorded(record: Mapping) -> dict[str, str]:
    """The versions in the record of a run (``run.json``). Older records lack some of them."""
    versions = record.get("versions")
    versions = versions if isinstance(versions, Mapping) else {}
    return {name: public(str(versions[name])) for name in LIBRARIES if name in versions}


def others(record: Mapping) -> str:
    """The recorded versions that are not installed, such as ``torch 2.14.0``; empty if all are."""
    ours = installed()
    theirs = recorded(record).items()
    return ", ".join(f"{name} {version}" for name, version in theirs if version != ours[name])
