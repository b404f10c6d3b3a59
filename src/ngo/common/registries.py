"""The registry of each kind of part that a run names, and where its entries are.

An entry registers itself when its module is imported; the first look into a registry imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdicts.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from ngo.common.fields import Field
    from ngo.data.augmentation import Augment
    from ngo.data.dataset import Source
    from ngo.data.partition import Rule
    from ngo.engine.backends import Gradients, Workers
    from ngo.gossip.attack import Attack
    from ngo.gossip.compression import Compression
    from ngo.gossip.coupling import Coupling
    from ngo.gossip.method import Method
    from ngo.gossip.mixing_matrix import WeightRule
    from ngo.gossip.schedule import LrSchedule, Schedule
    from ngo.gossip.step import LocalRule, Step
    from ngo.gossip.topology import Topology
    from ngo.models.model import Model
    from ngo.models.task import Task
    from ngo.training.clocks import Part

DATASETS: Registry[Source] = Registry("dataset", "ngo.data.sets")
MODELS: Registry[Model] = Registry("model", "ngo.models.model")
TASKS: Registry[Task] = Registry("task", "ngo.models.task")
PARTITIONS: Registry[Rule] = Registry("partition", "ngo.data.partition")
SHORT_SHARES: Registry[str] = Registry("short_share", "ngo.data.partition")
AUGMENTATIONS: Registry[Augment | None] = Registry("augmentation", "ngo.data.augmentation")
METHODS: Registry[Method] = Registry("method", "ngo.gossip.methods")
TOPOLOGIES: Registry[Topology] = Registry("topology", "ngo.gossip.topologies")
WEIGHT_RULES: Registry[WeightRule] = Registry("weights", "ngo.gossip.mixing_matrix")
COUPLINGS: Registry[Coupling] = Registry(
    "coupling", "ngo.gossip.coupling", "ngo.gossip.robust_coupling"
)
COMPRESSIONS: Registry[Compression] = Registry("compression", "ngo.gossip.compression")
LOCAL_RULES: Registry[LocalRule] = Registry("local_rule", "ngo.gossip.step")
#: The order of the half step and the pull in a step of gossip.
ORDERS: Registry[Callable[[Step], None]] = Registry("order", "ngo.gossip.step")
SCHEDULES: Registry[Schedule] = Registry("schedule", "ngo.gossip.schedule")
LR_SCHEDULES: Registry[LrSchedule] = Registry("lr_schedule", "ngo.gossip.schedule")
ATTACKS: Registry[Attack] = Registry("attack", "ngo.gossip.attack")
BACKENDS: Registry[Callable[[Workers], Gradients]] = Registry("backend", "ngo.engine.backends")
PRECISIONS: Registry[str] = Registry("precision", "ngo.engine.backends")
#: The number of a worker → that of its stream (see ``seeding``); None is the stream of all.
INITIALIZATIONS: Registry[Callable[[int], int | None]] = Registry(
    "initialization", "ngo.engine.backends"
)
CLOCKS: Registry[Part] = Registry("clock", "ngo.training.clocks")

#: By the field of a run that names an entry.
REGISTRIES: dict[str, Registry[Any]] = {
    value.kind: value for value in list(vars().values()) if isinstance(value, Registry)
}

#: The options of all registered entries: fields of a run.
DECLARED: Registry[Field] = Registry(
    "field of a run", *{module for registry in REGISTRIES.values() for module in registry.modules}
)

# Entries that change nothing, of runs and configs that lack the field.
REFUSED, METROPOLIS, CONSTANT, HONEST, SAME = "error", "metropolis", "constant", "none", "same"
