"""Checks of several fields of a run together. Each raises a one-line UserError."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ngo.common.registry import UserError, unknown, unknown_field
from ngo.common.seeding import numpy_stream
from ngo.data.dataset import Source
from ngo.data.owners import OWNERS, by_owner
from ngo.data.partition import PARTITIONS, REFUSED, WHOLE, Parts, Rule
from ngo.gossip.method import ARRIVALS, GRAPHS, Method
from ngo.gossip.traffic import NUMBERS
from ngo.models.model import MODELS, Model
from ngo.training.spec import FIELDS, FINAL, RunSpec
from ngo.training.step_checks import check_argument, check_step
from ngo.training.virtual.clock import check_clock

# The most steps and evaluations of a run: more is a typing error, found before any computation.
MOST_STEPS, MOST_EVALUATIONS = 10**9, 10**5


def check_fit(spec: RunSpec, source: Source, model: Model, entry: Method) -> None:
    """Raise unless method, network, model and data go together, with enough samples for all."""
    check_step(spec, entry)
    check_clock(spec, entry)
    _check_model(spec, source, model)
    rule = PARTITIONS[spec.partition]
    if rule.by_label and source.classes is None:
        raise UserError(
            f"partition: {spec.partition!r} needs classes, which dataset {spec.dataset!r} lacks: a "
            f"whole number from 0 for each sample."
        )
    if by_owner(rule) and spec.dataset not in OWNERS:
        raise UserError(
            f"partition: {spec.partition!r} needs the owners of samples, which dataset "
            f"{spec.dataset!r} lacks; data sets with owners: {', '.join(OWNERS) or 'none'}."
        )
    for name in rule.fields:
        check_argument("partition", spec.partition, name)
    kept = spec.kept(source.train_samples)
    _check_samples(spec, kept)
    if spec.short_share == WHOLE and spec.clock != "steps":
        raise UserError(
            f"short_share: 'whole' gives workers steps of different sizes, and with clock "
            f"{spec.clock!r} all steps take as long; it must be error or repeat."
        )
    _check_smallest(spec, rule, kept)
    _check_length(spec, spec.owned_of(source.train_samples))


def check_method(name: str, entry: Method) -> None:
    """Raise unless fields of a run, graphs and messages have the names that a method declares."""
    for key, names, known in (
        ("field", (*entry.fields, *entry.fixed), FIELDS),
        ("graph", (entry.graph,), GRAPHS),
        ("sends", entry.sends, NUMBERS),
        ("arrivals", (entry.arrivals,), ARRIVALS),
    ):
        for each in names:
            if each not in known:
                error = unknown_field if key == "field" else unknown
                raise error(f"{key} of method {name!r}", each, known)


def _check_model(spec: RunSpec, source: Source, model: Model) -> None:
    if model.input_shape != source.input_shape:
        shape = source.input_shape
        fitting = ", ".join(name for name, each in MODELS.items() if each.input_shape == shape)
        raise UserError(
            f"model: {spec.model!r} takes inputs of shape {model.input_shape}, dataset "
            f"{spec.dataset!r} has {shape}; it goes with model {fitting or 'none that is known'}."
        )
    if model.task != spec.task:
        raise UserError(f"model: {spec.model!r} serves task {model.task!r}, not {spec.task!r}.")
    if spec.augmentation != "none" and len(source.input_shape) != 3:
        raise UserError(
            f"augmentation: {spec.augmentation!r} needs images, which dataset {spec.dataset!r} "
            f"lacks; it must be 'none'."
        )
    if spec.batch_size < model.smallest_batch:
        raise UserError(
            f"batch_size: {spec.batch_size} is too small for model {spec.model!r} (batch "
            f"normalization); it must be {model.smallest_batch} or more."
        )


def _check_samples(spec: RunSpec, m: int) -> None:
    """Raise unless ``m`` samples are enough for the partition."""
    for key in ("workers", "shards"):
        if (count := getattr(spec, key)) is not None and count > m:
            raise UserError(f"{key}: {count} is more than {spec.dataset}'s {m} samples.")
    if spec.shards is not None and spec.shards_per_worker is not None:
        wanted = spec.workers * spec.shards_per_worker
        if wanted > spec.shards:
            raise UserError(
                f"shards_per_worker: {spec.shards_per_worker} for each of {spec.workers} workers "
                f"are {wanted} shards, but there are {spec.shards}; at most "
                f"{spec.shards // spec.workers} each, or more shards."
            )
    for key in ("samples_per_worker", "smallest"):
        if (each := getattr(spec, key)) is not None and spec.workers * each > m:
            raise UserError(
                f"{key}: {each} for each of {spec.workers} workers are {spec.workers * each}, more "
                f"than {spec.dataset}'s {m} samples; at most {m // spec.workers} each."
            )


def _check_length(spec: RunSpec, owned: int) -> None:
    """Raise for more steps or evaluations than a run may have."""
    per_epoch = owned / spec.per_step(owned)
    steps = spec.steps(owned)
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


def check_filled(spec: RunSpec, parts: Parts) -> None:
    """Raise if a worker has no samples, which no batch size would mend."""
    empty = [i for i, part in enumerate(parts) if len(part) == 0]
    if empty:
        with_beta, larger = "", ""
        if "beta" in PARTITIONS[spec.partition].fields:
            with_beta, larger = f" with beta {spec.beta:g}", "a larger beta, "
        raise UserError(
            f"partition: {spec.partition}{with_beta} leaves worker {empty[0]} without samples; use "
            f"{larger}fewer workers, another seed, or dirichlet_min, which gives each worker at "
            f"least `smallest` samples."
        )


def smallest_share(parts: Parts) -> tuple[int, int]:
    """The number of samples of the worker with the fewest, and which worker it is."""
    return min((len(part), i) for i, part in enumerate(parts))


def check_share(spec: RunSpec, share: int, worker: int | None = None) -> None:
    """Raise unless the worker with the fewest samples, ``share``, can fill a batch.

    ``worker`` is its number, where that is known.
    """
    if spec.short_share == REFUSED and spec.batch_size > share:
        raise UserError(
            f"batch_size: {spec.batch_size} is larger than "
            f"{'a worker' if worker is None else f'worker {worker}'}'s share of {share} samples, "
            f"the smallest ({spec.dataset}, partition {spec.partition}, {spec.workers} workers, "
            f"seed {spec.seed}); it must be {share} or less, or short_share repeat (samples come "
            f"again within a batch) or whole (the share is the batch)."
        )


def _check_smallest(spec: RunSpec, rule: Rule, m: int) -> None:
    """``check_share`` of a partition of ``m`` samples, before their labels are known."""
    if rule.smallest_share is None:
        return
    share, worker = rule.smallest_share(m, spec.workers, **rule.arguments(spec)), None
    if share < spec.batch_size and not rule.by_label:  # such a rule reads no labels
        generator = numpy_stream(spec.seed, "partition")
        labels = np.zeros(m, np.int64)
        parts = rule.assign(labels, spec.workers, **rule.arguments(spec), generator=generator)
        share, worker = smallest_share(parts)
    check_share(spec, share, worker)


def check_snapshots(spec: RunSpec, snapshots: Iterable[int | str], last: int) -> None:
    """Raise unless the run, whose last step is ``last``, reaches these steps."""
    for step in snapshots:
        if isinstance(step, int) and step > last:
            raise UserError(
                f"snapshots: step {step} is after the last step of {spec.id}, {last}; it must be "
                f"{last} or less, or {FINAL!r}."
            )
