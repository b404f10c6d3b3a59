"""Who owns which sample: the rules of the paper's supplement C.1.

Each rule takes the labels and a generator and returns one index array for each worker; no sample
has two owners. A new rule is one decorated function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ngo.registry import Decorator, Registry, UserError

Parts = list[np.ndarray]


@dataclass(frozen=True)
class Rule:
    """A rule with the fields of a run that it reads, by its own parameters' names.

    ``smallest_share(m, n, …)`` is the least number of samples a worker can get out of ``m``; None
    where only a draw tells. ``owned(m, n, …)`` is how many samples get an owner, at most. A rule
    ``by_label`` needs a data set with classes.
    """

    assign: Callable[..., Parts]
    parameters: dict[str, str]
    smallest_share: Callable[..., int] | None
    owned: Callable[..., int]
    by_label: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a run that mean something for this rule."""
        return tuple(self.parameters)

    def arguments(self, run: object) -> dict[str, object]:
        """The rule's own parameters, from the fields of a run."""
        return {theirs: getattr(run, ours) for ours, theirs in self.parameters.items()}


PARTITIONS: Registry[Rule] = Registry("partition")


def rule(
    name: str,
    *,
    smallest_share: Callable[..., int] | None = None,
    owned: Callable[..., int] = lambda m, n, **_: m,
    by_label: bool = False,
    **parameters: str,
) -> Decorator:
    """Register a rule; ``parameters`` maps the run's fields to the rule's own parameters."""

    def register(assign: Callable[..., Parts]) -> Callable[..., Parts]:
        PARTITIONS.add(name, Rule(assign, parameters, smallest_share, owned, by_label))
        return assign

    return register


@rule("iid", smallest_share=lambda m, n: m // n)
def iid(labels: np.ndarray, n: int, *, generator: np.random.Generator) -> Parts:
    """All samples, at random, split evenly (sizes differ by one at most)."""
    _at_most("workers", n, len(labels), "samples")
    return _sorted(np.array_split(generator.permutation(len(labels)), n))


@rule(
    "equal",
    smallest_share=lambda m, n, samples: samples,
    owned=lambda m, n, samples: n * samples,
    samples_per_worker="samples",
)
def equal(labels: np.ndarray, n: int, samples: int, *, generator: np.random.Generator) -> Parts:
    """As many ``samples`` for each worker, whatever n is (Section 5.5); the rest stays unused."""
    _at_most("workers × samples_per_worker", n * samples, len(labels), "samples")
    return _sorted(np.split(generator.permutation(len(labels))[: n * samples], n))


@rule(
    "shards",
    by_label=True,
    smallest_share=lambda m, n, shards, per_worker: (m // shards) * per_worker,
    # The first m % shards pieces have a sample more than the rest.
    owned=lambda m, n, shards, per_worker: (
        n * per_worker * (m // shards) + min(n * per_worker, m % shards)
    ),
    shards="shards",
    shards_per_worker="per_worker",
)
def shards(
    labels: np.ndarray, n: int, shards: int, per_worker: int, *, generator: np.random.Generator
) -> Parts:
    """Samples sorted by label and cut into ``shards``; each worker takes ``per_worker`` of them.

    The draw is without replacement; what nobody takes stays unused (the paper's MNIST: 300 shards,
    2 for each of 10 workers, so 4,000 of 60,000 images).
    """
    _at_most("shards", shards, len(labels), "samples")
    _at_most("workers × shards_per_worker", n * per_worker, shards, "shards")
    pool = np.array_split(np.argsort(np.asarray(labels), kind="stable"), shards)
    drawn = generator.permutation(shards)[: n * per_worker].reshape(n, per_worker)
    return _sorted([np.concatenate([pool[s] for s in row]) for row in drawn])


@rule("dirichlet", by_label=True, beta="beta")
def dirichlet(labels: np.ndarray, n: int, beta: float, *, generator: np.random.Generator) -> Parts:
    """Each class is split among the workers in proportions drawn from Dir_n(β); all data is used.

    A small β gives each class to few workers; a worker may get no sample at all.
    """
    if not beta > 0:
        raise UserError(f"beta: {beta!r} is no concentration; it must be above 0")
    _at_most("workers", n, len(labels), "samples")
    labels = np.asarray(labels)
    pieces: list[list[np.ndarray]] = [[] for _ in range(n)]
    for label in np.unique(labels):
        members = generator.permutation(np.flatnonzero(labels == label))
        shares = generator.dirichlet(np.full(n, beta))
        cuts = np.round(np.cumsum(shares)[:-1] * len(members)).astype(int)
        for worker, piece in zip(pieces, np.split(members, cuts), strict=True):
            worker.append(piece)
    return _sorted([np.concatenate(worker) for worker in pieces])


@dataclass(frozen=True)
class Summary:
    """``counts[i, k]`` is the number of samples of class k on worker i."""

    counts: np.ndarray

    @property
    def classes_covered(self) -> int:
        """The number of classes that some worker has samples of."""
        return int((self.counts.sum(0) > 0).sum())


def summary(labels: np.ndarray, parts: Parts, classes: int) -> Summary:
    """Samples per class and worker."""
    labels = np.asarray(labels)
    return Summary(np.stack([np.bincount(labels[part], minlength=classes) for part in parts]))


def _sorted(parts: Parts) -> Parts:
    return [np.sort(part) for part in parts]


def _at_most(key: str, value: int, limit: int, of: str) -> None:
    if not 1 <= value <= limit:
        raise UserError(f"{key}: {value} is not possible; it must be 1 to {limit}, the {of}")
