"""A run: every value that decides its result, with a readable and unique id.

Light: without torch, a config of hundreds of runs is checked in a moment.
"""

from __future__ import annotations

import hashlib
import json
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

from ngo.common.fields import Field, above, at_least, below, within
from ngo.common.former import FORMER
from ngo.common.settings import DECLARED, reserve
from ngo.data.augmentation import AUGMENTATIONS
from ngo.data.dataset import DATASETS
from ngo.data.partition import PARTITIONS
from ngo.engine.backend import BACKENDS, PRECISIONS
from ngo.gossip.compression import COMPRESSIONS
from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.local_rule import LOCAL_RULES
from ngo.gossip.lr_schedule import LR_SCHEDULES
from ngo.gossip.method import METHODS
from ngo.gossip.topology import TOPOLOGIES
from ngo.models.model import MODELS
from ngo.models.task import TASKS

# The last step of a run, among the steps after which its models are kept.
FINAL = "final"

# The longest time between a run's checkpoints, in seconds, by default.
CHECKPOINT_SECONDS = 60.0

_ALWAYS = object()  # of a field that is part of every run's id, whatever its value


def _field(
    kind: type, help: str, default: object, *, neutral: object = _ALWAYS, **rest: object
) -> object:
    """A field of a run. One that is added later has a ``neutral`` value, at which it changes
    nothing: ids leave it out at that value, and at None, so that earlier runs keep theirs.
    """
    return field(default=default, metadata={"field": Field(kind, help, **rest), "neutral": neutral})


_COUNT, _RATE, _FROM_ZERO = at_least(1), above(0), at_least(0)
_EPOCHS = within(1e-9, 10**9)
_METHOD = {"owners": ("method",)}
_PARTITION = {"owners": ("partition",)}
_FAILS = {"default": 0.0, "neutral": 0.0, **below(0, 1), **_METHOD}


@dataclass(frozen=True)
class RunSpec:
    """One run. Fields without a meaning for its method, topology or partition are None.

    Make one with ``resolve.resolve``, which checks the values and fills in the rest. This class is
    the one definition of a run's fields: the config's schema, the options of commands, their help
    and the documentation follow from it.
    """

    dataset: str = _field(str, "data set", "mnist", names=DATASETS)
    model: str = _field(str, "model architecture", "mnist_cnn", names=MODELS)
    task: str = _field(str, "learning task", "classification", names=TASKS)
    partition: str = _field(str, "who owns which sample", "iid", names=PARTITIONS)
    shards: int | None = _field(
        int, "pieces into which the sorted data is cut", 300, **_COUNT, **_PARTITION
    )
    shards_per_worker: int | None = _field(int, "pieces for each worker", 2, **_COUNT, **_PARTITION)
    samples_per_worker: int | None = _field(
        int, "samples for each worker", 400, **_COUNT, **_PARTITION
    )
    beta: float | None = _field(
        float, "Dirichlet concentration", 0.5, **above(0, 1_000_000), **_PARTITION
    )
    holdout: float = _field(
        float, "share of the training set that is held out and evaluated", 0.0, **below(0, 1)
    )
    augmentation: str = _field(
        str, "random changes of the training images", "none", names=AUGMENTATIONS, neutral="none"
    )
    workers: int = _field(int, "number of workers n", 10, **_COUNT)
    topology: str | None = _field(
        str, "communication graph of the workers", "ring", names=TOPOLOGIES, **_METHOD
    )
    u: float | None = _field(
        float,
        "probability of an edge in a random graph",
        0.4,
        **above(0, 1),
        owners=("topology",),
    )
    method: str = _field(str, "how workers learn together", "ngo", names=METHODS)
    local_rule: str = _field(
        str, "how a worker moves along its gradient", "sgd", names=LOCAL_RULES, neutral="sgd"
    )
    coupling: str | None = _field(
        str, "pull along an edge", "power", names=COUPLINGS, **_METHOD, neutral="power"
    )
    p: float | None = _field(
        float,
        "exponent of the coupling φ_p; 1 is linear",
        0.9,
        **within(0.5, 1),
        owners=("method", "coupling"),
    )
    compression: str | None = _field(
        str,
        "compression of what a worker sends",
        "none",
        names=COMPRESSIONS,
        **_METHOD,
        neutral="none",
    )
    gamma: float | None = _field(float, "synchronization rate γ", 1.0, **_RATE, **_METHOD)
    gamma_decay: float | None = _field(
        float, "γ at step t is γ / (1 + t)^decay; 0 is constant", 0.0, **within(0, 10), **_METHOD
    )
    local_steps: int | None = _field(int, "gradient steps per gossip step", 1, **_COUNT, **_METHOD)
    delay: int | None = _field(
        int, "delay τ of received models, in steps", 1, **_FROM_ZERO, **_METHOD
    )
    v_threshold: float | None = _field(
        float, "index V at which a step's gossip ends", 1.0, **_RATE, **_METHOD
    )
    link_failure: float | None = _field(float, "probability that a link fails in a step", **_FAILS)
    absence: float | None = _field(float, "probability that a worker is away in a step", **_FAILS)
    lr: float = _field(float, "learning rate η", 0.05, **_RATE)
    lr_schedule: str = _field(
        str, "η over the run's steps", "constant", names=LR_SCHEDULES, neutral="constant"
    )
    warmup: float = _field(
        float, "share of the run's steps in which η rises linearly", 0.0, **below(0, 1), neutral=0.0
    )
    weight_decay: float = _field(float, "weight decay λ", 0.0, **_FROM_ZERO, neutral=0.0)
    batch_size: int = _field(int, "samples per worker and step", 32, **_COUNT)
    epochs: float = _field(float, "passes over the workers' data", 20.0, **_EPOCHS)
    eval_every: float = _field(float, "epochs between evaluations", 1.0, **_EPOCHS)
    eval_images: int = _field(
        int,
        "test samples of all evaluations but the last, the same in every run; 0: all",
        0,
        **_FROM_ZERO,
        neutral=0,
    )
    precision: str = _field(
        str, "number type of forward and backward passes", "float32", names=PRECISIONS
    )
    backend: str = _field(str, "how all workers' gradients are computed", "auto", names=BACKENDS)
    seed: int = _field(int, "seed of all random streams", 0, **_FROM_ZERO)
    #: The values of settings that registered entries have declared, as (name, value) by name.
    own: tuple[tuple[str, object], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, object]) -> RunSpec:
        """The run with these ``values()``."""
        core = {name: value for name, value in values.items() if name in _CORE}
        own = tuple(sorted((name, value) for name, value in values.items() if name not in _CORE))
        return cls(**core, own=own)

    def __getattr__(self, name: str) -> object:
        """A declared setting as an attribute, as the package's own fields are; else None."""
        if name.startswith("_") or name not in DECLARED:
            raise AttributeError(f"a run has no field {name!r}")
        return dict(self.own).get(name)

    def values(self) -> dict[str, object]:
        """Every field and its value; declared settings without a meaning here are left out."""
        return {**{name: getattr(self, name) for name in _CORE}, **dict(self.own)}

    @property
    def id(self) -> str:
        """For example ``mnist-shards-ring-ngo-p0.9-s0-1f3a9c2e``."""
        reads_p = self.p is not None and "p" in METHODS[self.method].fields
        exponent = f"p{self.p:g}" if reads_p else None
        parts = [self.dataset, self.partition, self.topology, self.method]
        for name in ("coupling", "compression", "local_rule"):
            if (value := getattr(self, name)) != NEUTRAL[name]:
                parts.append(value)
        canonical = {
            name: value
            for name, value in self.values().items()
            if name not in NEUTRAL or value not in (None, NEUTRAL[name])
        }
        canonical["protocol"] = canonical.pop("method")  # the former name, which older ids have
        return "-".join([*filter(None, [*parts, exponent]), f"s{self.seed}", digest(canonical)])

    @property
    def partition_fields(self) -> dict[str, object]:
        """The fields that decide who owns which sample."""
        rule = PARTITIONS[self.partition]
        names = ("dataset", "holdout", "partition", *rule.fields, "workers", "seed")
        return {name: getattr(self, name) for name in names}

    @property
    def partition_id(self) -> str:
        """For example ``mnist-shards-n10-s0-9c2e1f3a``; runs with one partition share its id."""
        slug = f"{self.dataset}-{self.partition}-n{self.workers}-s{self.seed}"
        return f"{slug}-{digest(self.partition_fields)}"

    @property
    def samples(self) -> int:
        """How many samples the run trains on, repeats included, as far as known beforehand."""
        return round(self.epochs * self.owned)

    @property
    def owned(self) -> int:
        """How many samples all workers own together: at most, if a random draw decides."""
        return self.owned_of(DATASETS[self.dataset].train_samples)

    def owned_of(self, m: int) -> int:
        """The same, for a data set of ``m`` training samples."""
        rule = PARTITIONS[self.partition]
        return rule.owned(self.kept(m), self.workers, **rule.arguments(self))

    def steps(self, owned: int) -> int:
        """The number of steps, if all workers own ``owned`` samples together."""
        return max(1, round(self.epochs * (owned / (self.workers * self.batch_size))))

    def kept(self, m: int) -> int:
        """How many of a data set's ``m`` training samples are not held out."""
        return m - round(self.holdout * m)

    def flags(self) -> list[str]:
        """The options of ``ngo train`` that give this run."""
        fixed = METHODS[self.method].fixed
        return [
            word
            for name, value in self.values().items()
            if value is not None and name not in fixed
            for word in (flag(name), repr(value) if isinstance(value, float) else str(value))
        ]


_CORE = {f.name: f for f in fields(RunSpec) if f.metadata}

# The values at which fields change nothing: those of runs and configs that lack the fields.
NEUTRAL = {
    name: f.metadata["neutral"] for name, f in _CORE.items() if f.metadata["neutral"] is not _ALWAYS
}


# Other options of commands and arguments of ``fit``, and other facts in tables and records.
_OPTIONS = (
    *("spec", "spec_file", "partition_file", "data_root", "device", "runs_per_gpu", "threads"),
    *("snapshot", "snapshots", "checkpoint_seconds", "distributed", "processes", "timeout"),
    *("on_failure", "asynchronous", "overwrite", "out", "plugin", "help", "loss", *FORMER),
    *("progress", "module"),
)
_FACTS = (
    *("run", "tier", "version", "code", "torch", "instructions", "kernels", "parts", "data"),
    *("train_samples", "test_samples", "classes_covered", "parameters"),
)
reserve([*_CORE, *_OPTIONS, *_FACTS, *(n for n in vars(RunSpec) if not n.startswith("_"))])


class _Declared(Mapping):
    """The declared settings' fields, or their defaults, as a live mapping."""

    def __init__(self, side: str) -> None:
        self._side = side

    def __getitem__(self, name: str) -> object:
        if name not in DECLARED:
            raise KeyError(name)
        return getattr(DECLARED[name], self._side)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(DECLARED))  # whichever module was imported first

    def __len__(self) -> int:
        return len(DECLARED)


# Every field of a run, and its default, the declared settings included.
FIELDS: Mapping[str, Field] = ChainMap(
    _Declared("field"), {name: f.metadata["field"] for name, f in _CORE.items()}
)
DEFAULTS: Mapping[str, object] = ChainMap(
    _Declared("default"), {name: f.default for name, f in _CORE.items()}
)


def implied() -> dict[str, object]:
    """Values of fields that need not be stated: neutral ones, and the defaults of settings."""
    declared = {k: each.default for k, each in DECLARED.items() if each.default is not None}
    return {**NEUTRAL, **declared}


def flag(name: str) -> str:
    """The command line option of a field: ``batch_size`` → ``--batch-size``."""
    return "--" + name.replace("_", "-")


def digest(values: Mapping[str, object]) -> str:
    """8 hex digits of the canonical JSON of ``values``."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]
