"""The registry of each kind of part that a run names, and where its entries are.

An entry registers itself when its module is imported; the first look into a registry imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdicts.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from ngo.common import fields
    from ngo.data import dataset, partition
    from ngo.data.augmentation import Augmentation
    from ngo.engine import backends
    from ngo.gossip import gossip_step, method, mixing_matrix, schedule, step, topology
    from ngo.models import model, task

DATASETS: Registry[dataset.Source] = Registry("dataset", "ngo.data.sets")
MODELS: Registry[model.Model] = Registry("model", "ngo.models.model")
TASKS: Registry[task.Task] = Registry("task", "ngo.models.task")
PARTITIONS: Registry[partition.Rule] = Registry("partition", "ngo.data.partition")
SHORT_SHARES: Registry[str] = Registry("short_share", "ngo.data.partition")
OBJECTIVES: Registry[partition.Weigh | None] = Registry("objective", "ngo.data.partition")
AUGMENTATIONS: Registry[Augmentation | None] = Registry("augmentation", "ngo.data.augmentation")
METHODS: Registry[method.Method] = Registry("method", "ngo.gossip.methods")
TOPOLOGIES: Registry[topology.Topology] = Registry("topology", "ngo.gossip.topologies")
WEIGHT_RULES: Registry[mixing_matrix.WeightRule] = Registry("weights", "ngo.gossip.mixing_matrix")
COUPLINGS: Registry[gossip_step.Coupling] = Registry("coupling", "ngo.gossip.coupling")
COMPRESSIONS: Registry[fields.Entry] = Registry("compression", "ngo.gossip.compression")
LOCAL_RULES: Registry[step.LocalRule] = Registry("local_rule", "ngo.gossip.step")
#: The order of the half step and the pull in a step of gossip.
ORDERS: Registry[Callable[[step.Step], None]] = Registry("order", "ngo.gossip.step")
SCHEDULES: Registry[schedule.Schedule] = Registry("schedule", "ngo.gossip.schedule")
LR_SCHEDULES: Registry[fields.Entry] = Registry("lr_schedule", "ngo.gossip.schedule")
ATTACKS: Registry[fields.Entry] = Registry("attack", "ngo.gossip.attack")
BACKENDS: Registry[backends.Backend] = Registry("backend", "ngo.engine.backends")
PRECISIONS: Registry[str] = Registry("precision", "ngo.engine.backends")
#: The number of a worker → that of its stream (see ``seeding``); None is the stream of all.
INITIALIZATIONS: Registry[Callable[[int], int | None]] = Registry(
    "initialization", "ngo.engine.backends"
)
CLOCKS: Registry[fields.Entry] = Registry("clock", "ngo.training.clocks")

#: By the field of a run that names an entry.
REGISTRIES: dict[str, Registry[Any]] = {
    value.kind: value for value in list(vars().values()) if isinstance(value, Registry)
}

#: The options of all registered entries: fields of a run.
DECLARED: Registry[fields.Field] = Registry(
    "field of a run", *dict.fromkeys(sum((each.modules for each in REGISTRIES.values()), ()))
)

# Entries that change nothing, of runs and configs that lack the field.
METROPOLIS, HONEST, SAME = "metropolis", "none", "same"
