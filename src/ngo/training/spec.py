"""The values of a run, which decide its result and its readable and unique id. No torch here."""

from __future__ import annotations

import hashlib
import json
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ngo.common.fields import (
    RESERVED,
    Field,
    above,
    at_least,
    below,
    brought,
    choice,
    fields_of,
    number,
    reserve,
    whole,
    within,
)
from ngo.common.plugins import blamed
from ngo.common.registries import DATASETS, DECLARED, METHODS, PARTITIONS

# The last step of a run, among the steps after which its models are kept.
FINAL = "final"

# The most workers evaluated by default: the standard error of their mean is 1/8 of their spread.
EVALUATED = 64

# The longest time between a run's checkpoints, in seconds, by default.
CHECKPOINT_SECONDS = 60.0

# The methods whose subject is φ_p. The others have p = 1 by default, as they were published.
NONLINEAR = ("ngo", "delayed")

_COUNT, _RATE, _FROM_ZERO = at_least(1), above(0), at_least(0)
_EPOCHS, _SHARE = within(1e-9, 10**9), below(0, 1)
_PARTITION = {"owners": ("partition",)}
_METHOD: dict[str, Any] = {"owners": ("method",)}
_LATER: dict[str, Any] = {**_METHOD, "optional": True}


@dataclass(frozen=True)
class RunSpec:
    """One run. Fields without a meaning for its method, topology or partition are None.

    Make one with ``spec_checks.resolve``, which checks the values and fills in the rest. This class
    is the one definition of a run's fields: the config's schema, the options of commands, their
    help and ``ngo fields`` follow from it. A field that is added later is ``optional``: at its
    default it changes nothing, and ids leave it out, so that earlier runs keep theirs.
    """

    dataset: str = choice("data set", "mnist")
    model: str = choice("model architecture", "mnist_cnn")
    task: str = choice("learning task", "classification")
    partition: str = choice("who owns which sample", "iid")
    shards: int | None = whole("pieces into which sorted data is cut", 300, _COUNT, **_PARTITION)
    shards_per_worker: int | None = whole("pieces for each worker", 2, _COUNT, **_PARTITION)
    samples_per_worker: int | None = whole("samples for each worker", 400, _COUNT, **_PARTITION)
    beta: float | None = number("Dirichlet concentration", 0.5, above(0, 1_000_000), **_PARTITION)
    holdout: float = number("share of the training set that is held out and evaluated", 0.0, _SHARE)
    augmentation: str = choice("random changes of the training images", "none", optional=True)
    workers: int = whole("number of workers n", 10, _COUNT)
    participants: int = whole(
        "workers that take part, drawn anew for each exchange by a server; 0: all",
        0,
        _FROM_ZERO,
        optional=True,
    )
    objective: str = choice("what each worker counts for", "workers", optional=True)
    topology: str | None = choice("communication graph of workers", "ring", **_METHOD)
    u: float | None = number(
        "probability of an edge in a random graph", 0.4, above(0, 1), owners=("topology",)
    )
    weights: str | None = choice("weights of undirected edges", "metropolis", **_LATER)
    method: str = choice("how workers learn together", "ngo")
    initialization: str | None = choice("draws of workers' initial parameters", "same", **_LATER)
    order: str | None = choice("order of half step and pull", "adapt_then_combine", **_LATER)
    local_rule: str = choice("how a worker follows its gradient", "sgd", optional=True)
    coupling: str | None = choice("pull along an edge", "power", **_LATER)
    p: float | None = number(
        "exponent of the coupling φ_p; 1 is linear",
        0.95,  # NGO trains with it at γ = 1; 0.9 diverges there on MNIST
        within(0.5, 1),
        owners=("method", "coupling"),
    )
    compression: str | None = choice("compression of what a worker sends", "none", **_LATER)
    gamma: float | None = number("synchronization rate γ", 1.0, _RATE, **_METHOD)
    gamma_decay: float | None = number(
        "γ at step t is γ / (1 + t)^decay; 0 is constant", 0.0, within(0, 10), **_METHOD
    )
    local_steps: int | None = whole("gradient steps per gossip step", 1, _COUNT, **_METHOD)
    delay: int | None = whole("delay τ of received models, in steps", 1, _FROM_ZERO, **_METHOD)
    v_threshold: float | None = number("V at which a step's gossip ends", 1.0, _RATE, **_METHOD)
    schedule: str | None = choice("γ, V_th and graph over the run's steps", "constant", **_LATER)
    link_failure: float | None = number(
        "probability that a link fails in a step", 0.0, _SHARE, **_LATER
    )
    absence: float | None = number(
        "probability that a worker is away in a step", 0.0, _SHARE, **_LATER
    )
    attack: str | None = choice("what attackers send", "none", **_LATER)
    lr: float = number("learning rate η", 0.05, _RATE)
    lr_schedule: str = choice("η over the run's steps", "constant", optional=True)
    warmup: float = number(
        "share of the run's steps in which η rises linearly", 0.0, _SHARE, optional=True
    )
    weight_decay: float = number("weight decay λ", 0.0, _FROM_ZERO, optional=True)
    batch_size: int = whole("samples per worker and step", 32, _COUNT)
    short_share: str = choice("share smaller than a batch", "error", optional=True)
    epochs: float = number("passes over the workers' data", 20.0, _EPOCHS)
    eval_every: float = number("epochs between evaluations", 1.0, _EPOCHS)
    eval_images: int = whole(
        "test samples of all evaluations but the last, the same in every run; 0: all",
        0,
        _FROM_ZERO,
        optional=True,
    )
    clock: str = choice("how the time of the run passes", "steps", optional=True)
    eval_workers: int = whole(
        "workers that evaluations score, a random sample; 0: all up to 64, else 64",
        0,
        _FROM_ZERO,
        optional=True,
    )
    precision: str = choice("number type of forward and backward passes", "float32")
    backend: str = choice("how all workers' gradients are computed", "auto")
    seed: int = whole("seed of all random streams", 0, _FROM_ZERO)
    #: The values of options that registered entries have declared, as (name, value) by name.
    own: tuple[tuple[str, object], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, object]) -> RunSpec:
        """The run with these ``values()``."""
        core: dict[str, Any] = {name: value for name, value in values.items() if name in _CORE}
        own = tuple(sorted((name, value) for name, value in values.items() if name not in _CORE))
        return cls(**core, own=own)

    def __getattr__(self, name: str) -> Any:
        """An option as an attribute, as the package's own fields are; else None."""
        if name.startswith("_") or name not in DECLARED:
            raise AttributeError(f"a run has no field {name!r}")
        return dict(self.own).get(name)

    def values(self) -> dict[str, object]:
        """Every field and its value; options without a meaning here are left out."""
        return {**{name: getattr(self, name) for name in _CORE}, **dict(self.own)}

    @cached_property
    def id(self) -> str:
        """For example ``mnist-shards-ring-ngo-p0.9-s0-1f3a9c2e``."""
        reads_p = self.p is not None and "p" in METHODS[self.method].fields
        exponent = f"p{self.p:g}" if reads_p else None
        parts = [self.dataset, self.partition, self.topology, self.method]
        later = ("coupling", "compression", "local_rule", "attack")
        parts += [value for x in later if (value := getattr(self, x)) != NEUTRAL[x]]
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

    @cached_property
    def partition_id(self) -> str:
        """For example ``mnist-shards-n10-s0-9c2e1f3a``; runs with one partition share its id."""
        slug = f"{self.dataset}-{self.partition}-n{self.workers}-s{self.seed}"
        return f"{slug}-{digest(self.partition_fields)}"

    @property
    def samples(self) -> int:
        """The number of samples that the run trains on, repeats included (see ``owned``)."""
        return round(self.epochs * self.owned)

    @property
    def stepping(self) -> int:
        """The number of workers that step together."""
        return self.participants or self.workers

    @property
    def honest(self) -> int:
        """The number of honest workers of these: the first ones."""
        return self.stepping - (self.liars or 0)

    @property
    def evaluated(self) -> int:
        """The number of workers that evaluations score (see ``evaluation.evaluated_workers``)."""
        return min(self.honest, self.eval_workers or EVALUATED)

    @property
    def owned(self) -> int:
        """The number of samples that all workers own together; the most if it is drawn."""
        return self.owned_of(DATASETS[self.dataset].train_samples)

    def owned_of(self, m: int) -> int:
        """``owned`` for a data set of ``m`` training samples."""
        rule = PARTITIONS[self.partition]
        with blamed(f"partition {self.partition!r}, owned", rule.owned):
            return rule.owned(self.kept(m), self.workers, **rule.arguments(self))

    @property
    def per_step(self) -> int:
        """The samples of a step of all workers together that take it."""
        return self.stepping * self.batch_size

    def steps(self, owned: int) -> int:
        """The number of steps, if all workers own ``owned`` samples together."""
        return max(1, round(self.epochs * (owned / self.per_step)))

    def kept(self, m: int) -> int:
        """How many of a data set's ``m`` training samples are not held out."""
        return m - round(self.holdout * m)

    def flags(self) -> list[str]:
        """The options of ``ngo train`` that give this run."""
        fixed, values = METHODS[self.method].fixed, self.values().items()
        return flags_of({k: v for k, v in values if v is not None and k not in fixed})


_CORE = fields_of(RunSpec)

# The values at which fields change nothing: those of runs and configs that lack the fields.
NEUTRAL: dict[str, Any] = {name: field.default for name, field in _CORE.items() if field.optional}

# Other options of commands and arguments of ``fit``, and other facts in tables and records.
_OPTIONS = (
    *("spec", "spec_file", "partition_file", "data_root", "device", "job", "key", "threads"),
    *("snapshot", "snapshots", "checkpoint_seconds", "distributed", "processes", "timeout"),
    *("overwrite", "out", "plugin", "help", "loss", "protocol"),
    *("progress", "module", "train", "test", "score", "on_evaluation", "on_step"),
)
_FACTS = (
    *("run", "tier", "version", "code", "torch", "instructions", "kernels", "parts", "data"),
    *("train_samples", "test_samples", "classes_covered", "parameters"),
)
reserve([*_CORE, *_OPTIONS, *_FACTS, *(n for n in vars(RunSpec) if not n.startswith("_"))])


class _Fields(ChainMap[str, Field]):
    def __contains__(self, name: object) -> bool:
        """Entries are imported only for a name that may be one of their options."""
        return name in _CORE or (name not in RESERVED and name in DECLARED)

    def __iter__(self) -> Iterator[str]:
        return iter([*_CORE, *sorted(DECLARED)])  # whichever module was imported first


#: Every field of a run, with the options of all entries.
FIELDS: Mapping[str, Field] = _Fields({**_CORE}, DECLARED)


def fields_in(names: Iterable[str]) -> list[str]:
    """Which of the names of a table's columns are fields, in the order of ``FIELDS``."""
    found = {name for name in names if name in FIELDS}
    return [*filter(found.__contains__, _CORE), *sorted(found.difference(_CORE))]


def own_entries(spec: RunSpec) -> dict[str, tuple[str, str]]:
    """The fields of a run that name entries of the user's: the modules and functions of these."""
    own = {}
    for name, field in FIELDS.items():
        choice, registry = getattr(spec, name), field.names
        if registry is not None and brought(registry, choice):
            module, _, function = registry.definitions[choice].partition(":")
            own[name] = module, function
    return own


def flag(name: str) -> str:
    """The command line option of a field: ``batch_size`` → ``--batch-size``."""
    return "--" + name.replace("_", "-")


def flags_of(values: Mapping[str, Any]) -> list[str]:
    """The command line options of a mapping; a list repeats its option."""
    return [
        str(word)
        for name, value in values.items()
        for item in (value if isinstance(value, list) else [value])
        for word in (flag(name), item)
    ]


def digest(values: Mapping[str, object]) -> str:
    """8 hex digits of the canonical JSON of ``values``."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]
