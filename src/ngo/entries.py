"""The packages whose modules register entries: all registries are filled in this order.

Each folder that has a registry calls ``load`` when it is imported, so that no order depends on who
imports what. The modules are light: they import torch inside their functions.
"""

from __future__ import annotations

from ngo.common.registry import load_entries

PACKAGES = (
    *("ngo.data.sets", "ngo.data.augmentations", "ngo.data.partitions"),
    *("ngo.gossip.topologies", "ngo.gossip.couplings", "ngo.gossip.compressions"),
    *("ngo.gossip.local_rules", "ngo.gossip.lr_schedules", "ngo.gossip.methods"),
    *("ngo.models.architectures", "ngo.models.tasks"),
    "ngo.engine.backends",
    "ngo.analysis.quantities",
    "ngo.measures",
    # The order of the report.
    *("ngo.pipeline.artefacts_of.paper", "ngo.pipeline.artefacts_of.calibration"),
    "ngo.pipeline.artefacts_of.beyond",
)


def load() -> None:
    """Fill all registries."""
    for package in PACKAGES:
        load_entries(package)
