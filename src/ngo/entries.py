"""The packages whose modules register entries, by folder, in the order in which they are imported.

A folder calls ``load`` when it is imported: its registries are then full, and no order depends on
who imports what. The modules are light: torch is imported when it is first used (``common.lazy``).
"""

from __future__ import annotations

from ngo.common.registry import load_entries

PACKAGES = {
    "ngo.data": ("ngo.data.sets", "ngo.data.augmentation", "ngo.data.partition"),
    "ngo.gossip": (
        *("ngo.gossip.topologies", "ngo.gossip.coupling", "ngo.gossip.robust_coupling"),
        *("ngo.gossip.compression", "ngo.gossip.step", "ngo.gossip.schedule"),
        *("ngo.gossip.methods", "ngo.gossip.attack"),
    ),
    "ngo.models": ("ngo.models.model", "ngo.models.task"),
    "ngo.engine": ("ngo.engine.backends",),
    "ngo.analysis": ("ngo.analysis.quantities",),
    "ngo.measures": ("ngo.measures",),
}


def load(folder: str) -> None:
    """Fill the registries of a folder, such as ``ngo.gossip``."""
    for package in PACKAGES[folder]:
        load_entries(package)
