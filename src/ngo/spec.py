"""A run: every value that decides its result, checked, with a readable and unique id.

Light: it imports no torch, so a config of hundreds of runs is checked in a moment.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields

from ngo.backends import BACKENDS, PRECISIONS
from ngo.datasets import DATASETS
from ngo.fields import Field, above, at_least, below, checked, wanted, within
from ngo.graphs import TOPOLOGIES
from ngo.models import MODELS
from ngo.partition import PARTITIONS
from ngo.protocols import PROTOCOLS
from ngo.registry import UserError, unknown
from ngo.tasks import TASKS


def _field(kind: type, help: str, default: object, **rest: object) -> object:
    return field(default=default, metadata={"field": Field(kind, help, **rest)})


_COUNT, _RATE, _FROM_ZERO = at_least(1), above(0), at_least(0)
_EPOCHS = within(1e-9, 10**9)
_PROTOCOL = {"owners": ("protocol",)}
_PARTITION = {"owners": ("partition",)}


@dataclass(frozen=True)
class RunSpec:
    """One run. Values that mean nothing for its protocol, topology or partition are None.

    Make one with :func:`resolve`, which checks the values and fills in the rest.
    """

    dataset: str = _field(str, "data set", "mnist", names=DATASETS)
    model: str = _field(str, "network", "mnist_cnn", names=MODELS)
    task: str = _field(str, "what is learned", "classification", names=TASKS)
    partition: str = _field(str, "who owns which sample", "iid", names=PARTITIONS)
    shards: int | None = _field(
        int, "pieces the sorted data is cut into", 300, **_COUNT, **_PARTITION
    )
    shards_per_worker: int | None = _field(int, "pieces a worker takes", 2, **_COUNT, **_PARTITION)
    samples_per_worker: int | None = _field(
        int, "samples each worker gets", 400, **_COUNT, **_PARTITION
    )
    beta: float | None = _field(
        float, "Dirichlet concentration", 0.5, **above(0, 1_000_000), **_PARTITION
    )
    holdout: float = _field(
        float,
        "share of the training set held out, and evaluated too",
        0.0,
        **below(0, 1),
    )
    workers: int = _field(int, "number of workers n", 10, **_COUNT)
    topology: str | None = _field(str, "who talks to whom", "ring", names=TOPOLOGIES, **_PROTOCOL)
    u: float | None = _field(
        float,
        "probability of an edge in a random graph",
        0.4,
        **above(0, 1),
        owners=("topology",),
    )
    protocol: str = _field(str, "how workers learn together", "ngo", names=PROTOCOLS)
    p: float | None = _field(
        float,
        "exponent of the coupling φ_p; 1 is linear",
        0.9,
        **within(0.5, 1),
        **_PROTOCOL,
    )
    gamma: float | None = _field(float, "synchronization rate γ", 0.1, **_RATE, **_PROTOCOL)
    gamma_decay: float | None = _field(
        float, "γ at step t is γ / (1 + t)^decay; 0 is constant", 0.0, **within(0, 10), **_PROTOCOL
    )
    local_steps: int | None = _field(int, "SGD steps per consensus step", 1, **_COUNT, **_PROTOCOL)
    delay: int | None = _field(int, "steps τ that models are stale", 1, **_FROM_ZERO, **_PROTOCOL)
    v_threshold: float | None = _field(
        float, "index V down to which a step's gossip goes on", 1.0, **_RATE, **_PROTOCOL
    )
    lr: float = _field(float, "learning rate η", 0.05, **_RATE)
    batch_size: int = _field(int, "samples per worker and step", 32, **_COUNT)
    epochs: float = _field(float, "passes over the workers' data", 20.0, **_EPOCHS)
    eval_every: float = _field(float, "epochs between evaluations", 1.0, **_EPOCHS)
    precision: str = _field(
        str, "type of the numbers in forward and backward passes", "float32", names=PRECISIONS
    )
    backend: str = _field(str, "how all workers' gradients are computed", "auto", names=BACKENDS)
    seed: int = _field(int, "seed of every stream", 0, **_FROM_ZERO)

    @property
    def id(self) -> str:
        """For example ``mnist-shards-ring-ngo-p0.9-s0-1f3a9c2e``."""
        coupling = f"p{self.p:g}" if "p" in PROTOCOLS[self.protocol].fields else None
        parts = (self.dataset, self.partition, self.topology, self.protocol, coupling)
        return "-".join([*filter(None, parts), f"s{self.seed}", fingerprint(asdict(self))])

    @property
    def partition_fields(self) -> dict[str, object]:
        """The fields that decide who owns which sample."""
        rule = PARTITIONS[self.partition]
        names = ("dataset", "holdout", "partition", *rule.fields, "workers", "seed")
        return {name: getattr(self, name) for name in names}

    @property
    def partition_id(self) -> str:
        """For example ``mnist-shards-n10-s0-9c2e1f3a``; runs that share a partition share it."""
        slug = f"{self.dataset}-{self.partition}-n{self.workers}-s{self.seed}"
        return f"{slug}-{fingerprint(self.partition_fields)}"

    @property
    def samples(self) -> int:
        """The samples that the run trains on, repeats included, as far as they are known before."""
        return round(self.epochs * self.owned)

    @property
    def owned(self) -> int:
        """The samples that all workers together own, at most where a draw decides."""
        rule, m = PARTITIONS[self.partition], self.kept(DATASETS[self.dataset].train_samples)
        return rule.owned(m, self.workers, **rule.arguments(self))

    def steps(self, owned: int) -> int:
        """The number of steps, where all workers together own as many samples."""
        return max(1, round(self.epochs * (owned / (self.workers * self.batch_size))))

    def kept(self, m: int) -> int:
        """How many of a data set's ``m`` training samples are not held out."""
        return m - round(self.holdout * m)

    def flags(self) -> list[str]:
        """The command line flags of ``ngo train`` that give this run."""
        return [
            word
            for name, value in asdict(self).items()
            if value is not None and name not in _fixed(self)
            for word in (flag(name), repr(value) if isinstance(value, float) else str(value))
        ]


# The last step of a run, among the steps after which its models are kept.
FINAL = "final"

# The most that a run may ask for: more is a slip of the pen, found before anything is computed.
MOST_STEPS, MOST_EVALUATIONS = 10**9, 10**5

# The longest time between a run's checkpoints, in seconds, unless it is told another.
CHECKPOINT_SECONDS = 60.0

FIELDS: dict[str, Field] = {f.name: f.metadata["field"] for f in fields(RunSpec)}
DEFAULTS: dict[str, object] = {f.name: f.default for f in fields(RunSpec)}


def flag(name: str) -> str:
    """The command line flag of a field: ``batch_size`` → ``--batch-size``."""
    return "--" + name.replace("_", "-")


def resolve(given: Mapping[str, object], defaults: Mapping[str, object] = DEFAULTS) -> RunSpec:
    """The checked run with the values ``given``, and those of ``defaults`` elsewhere.

    A default that means nothing for this run is dropped; a value given for such a field is an
    error, since a result would not show it. So is a field that has a meaning but no value. Raises
    UserError in one line.
    """
    for name in given:
        if name not in FIELDS:
            raise unknown("field of a run", name, FIELDS)
    stated = {**defaults, **given}

    def stated_value(name: str) -> object:
        if name not in stated:
            raise UserError(f"{name} has no value; it must be {wanted(FIELDS[name])}.")
        return check(name, stated[name])

    protocol = PROTOCOLS[stated_value("protocol")]
    chosen = {
        "protocol": stated_value("protocol"),
        "partition": stated_value("partition"),
        "topology": stated_value("topology") if protocol.decentralized else None,
    }
    values: dict[str, object] = {}
    for name, entry in FIELDS.items():
        unused = [owner for owner in entry.owners if name not in _used(owner, chosen[owner])]
        if not unused:
            values[name] = stated_value(name)
            continue
        values[name] = protocol.fixed.get(name)
        if name in given and given[name] != values[name]:
            raise _without_effect(name, check(name, given[name]), values[name], unused[0], chosen)
    spec = RunSpec(**values)
    _check_together(spec)
    return spec


def check(name: str, value: object) -> object:
    """``value`` as the field's own type, if it is allowed there; a UserError if not."""
    return checked(name, value, FIELDS[name])


def fingerprint(values: Mapping[str, object]) -> str:
    """8 hex digits of the canonical JSON of ``values``."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


# The registries of the fields whose choice gives others a meaning.
_OWNERS = {"protocol": PROTOCOLS, "topology": TOPOLOGIES, "partition": PARTITIONS}


def _used(owner: str, choice: str | None) -> tuple[str, ...]:
    return () if choice is None else _OWNERS[owner][choice].fields


def _without_effect(
    name: str, value: object, fixed: object, owner: str, chosen: Mapping[str, str | None]
) -> UserError:
    users = sorted(key for key, entry in _OWNERS[owner].items() if name in entry.fields)
    choice = f"{owner} {chosen[owner]!r}" if chosen[owner] else f"protocol {chosen['protocol']!r}"
    is_fixed = f" (it is {fixed:g} there)" if fixed is not None else ""
    return UserError(
        f"{name}: {value!r} has no effect with {choice}{is_fixed}; "
        f"{name} is read with {owner} {', '.join(users)}."
    )


def _check_together(spec: RunSpec) -> None:
    """What no field shows alone: enough workers, enough data, a network that fits."""
    source, model = DATASETS[spec.dataset], MODELS[spec.model]
    if PROTOCOLS[spec.protocol].decentralized and spec.workers < 2:
        raise UserError(
            f"workers: {spec.workers} is too few for protocol {spec.protocol!r}; it must be 2 or "
            f"more (1 is allowed with protocol centralized)."
        )
    if model.input_shape != source.input_shape:
        raise UserError(
            f"model: {spec.model!r} takes inputs of shape {model.input_shape}, dataset "
            f"{spec.dataset!r} has {source.input_shape}; it goes with model {_fitting(spec)}."
        )
    if model.task != spec.task:
        raise UserError(f"model: {spec.model!r} serves task {model.task!r}, not {spec.task!r}.")
    if spec.batch_size < model.smallest_batch:
        raise UserError(
            f"batch_size: {spec.batch_size} is too small for model {spec.model!r} (batch "
            f"normalization); it must be {model.smallest_batch} or more."
        )
    if PARTITIONS[spec.partition].by_label and source.classes is None:
        raise UserError(
            f"partition: {spec.partition!r} needs classes, which dataset {spec.dataset!r} lacks."
        )
    m = spec.kept(source.train_samples)
    if spec.workers > m:
        raise UserError(f"workers: {spec.workers} is more than {spec.dataset}'s {m} samples.")
    if spec.shards is not None:
        wanted = spec.workers * spec.shards_per_worker
        if spec.shards > m:
            raise UserError(f"shards: {spec.shards} is more than {spec.dataset}'s {m} samples.")
        if wanted > spec.shards:
            raise UserError(
                f"shards_per_worker: {spec.shards_per_worker} for each of {spec.workers} workers "
                f"are {wanted} shards, but there are {spec.shards}; at most "
                f"{spec.shards // spec.workers} each, or more shards."
            )
    if (each := spec.samples_per_worker) is not None and spec.workers * each > m:
        raise UserError(
            f"samples_per_worker: {each} for each of {spec.workers} workers are "
            f"{spec.workers * each}, more than {spec.dataset}'s {m} samples; at most "
            f"{m // spec.workers} each."
        )
    share = _smallest_share(spec)
    if share is not None:
        check_share(spec, share)
    _check_length(spec)


def _check_length(spec: RunSpec) -> None:
    """Raise for more steps or evaluations than anybody can want."""
    per_epoch = spec.owned / (spec.workers * spec.batch_size)
    steps = spec.steps(spec.owned)
    if steps > MOST_STEPS:
        raise UserError(
            f"epochs: {spec.epochs:g} are {steps:.3g} steps; it must be "
            f"{MOST_STEPS / per_epoch:.3g} or less, for at most {MOST_STEPS:,} steps."
        )
    evaluations = steps / (spec.eval_every * per_epoch)
    if evaluations > MOST_EVALUATIONS:
        raise UserError(
            f"eval_every: {spec.eval_every:g} asks for {evaluations:.3g} evaluations; it must be "
            f"{steps / per_epoch / MOST_EVALUATIONS:.3g} or more, for at most "
            f"{MOST_EVALUATIONS:,} of them."
        )


def _fitting(spec: RunSpec) -> str:
    shape = DATASETS[spec.dataset].input_shape
    return ", ".join(name for name, model in MODELS.items() if model.input_shape == shape)


def check_share(spec: RunSpec, share: int) -> None:
    """Raise unless the worker with the fewest samples, ``share``, can fill a batch."""
    if spec.batch_size > share:
        raise UserError(
            f"batch_size: {spec.batch_size} is larger than a worker's share of {share} samples "
            f"({spec.dataset}, partition {spec.partition}, {spec.workers} workers, seed "
            f"{spec.seed}); it must be {share} or less."
        )


def check_snapshots(spec: RunSpec, snapshots: Iterable[int | str], owned: int) -> None:
    """Raise unless the run, whose workers own as many samples, takes the steps in ``snapshots``."""
    last = spec.steps(owned)
    for step in snapshots:
        if step != FINAL and step > last:
            raise UserError(
                f"snapshots: step {step} is after the last step of {spec.id}, {last}; it must be "
                f"{last} or less, or {FINAL!r}."
            )


def _smallest_share(spec: RunSpec) -> int | None:
    rule = PARTITIONS[spec.partition]
    if rule.smallest_share is None:
        return None
    m = spec.kept(DATASETS[spec.dataset].train_samples)
    return rule.smallest_share(m, spec.workers, **rule.arguments(spec))


def _fixed(spec: RunSpec) -> Mapping[str, object]:
    return PROTOCOLS[spec.protocol].fixed
