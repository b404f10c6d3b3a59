"""Partitions: which worker owns which training sample; and the owners of samples.

A rule is a function ``(labels, n, *, generator, …)`` that returns one index array per worker,
without common samples. It is registered with ``@partition``, here or in a plugin. Its other
keyword-only parameters are fields of a run.

The owners of a data set are a function ``root → array [m]`` of names or numbers, registered with
``@owners``. A partition whose first parameter is called ``owners`` divides the samples by them.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ngo.common.fields import Options, at_least, brought, registers, whole
from ngo.common.registries import DATASETS, OBJECTIVES, PARTITIONS, SHORT_SHARES
from ngo.data.download import prepare
from verdicts.registry import Registry, UserError, check

Parts = list[np.ndarray]
Assign = Callable[..., Parts]


@dataclass(frozen=True)
class Rule:
    """A rule, and the facts about its partitions that hold for every draw."""

    assign: Assign

    # (m, n, **fields) → the smallest number of samples that a worker can get out of m; None if it
    # depends on the draw.
    smallest_share: Callable[..., int] | None = None

    # (m, n, **fields) → the largest number of samples, out of m, that can get an owner: by default
    # all.
    owned: Callable[..., int] = lambda m, n, **fields: m

    # Whether the rule needs a data set with classes.
    by_label: bool = False

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The fields of a run that the rule reads."""
        parameters = inspect.signature(self.assign).parameters.values()
        names = (p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        return tuple(name for name in names if name != "generator")

    def arguments(self, run: object) -> dict[str, object]:
        """The values of these fields in ``run``."""
        return {name: getattr(run, name) for name in self.fields}


def partition(
    name: str, *, options: Options | None = None, version: int = 1, **facts: Any
) -> Callable[[Assign], Assign]:
    """Register the decorated function as a rule. ``facts`` are those of ``Rule``.

    ``options`` are fields of a run that it adds. ``version`` is raised when its results change.
    """
    return registers(PARTITIONS, name, lambda assign, _: Rule(assign, **facts), options, version)


# What is done where a worker owns fewer samples than a batch has: the run is refused, or samples
# come again within a batch.
for _name in ("error", "repeat"):
    SHORT_SHARES.add(_name, _name)

#: The numbers of workers' samples ``[n]`` → what each worker counts for, w ``[n]`` above 0.
Weigh = Callable[["np.ndarray"], "np.ndarray"]

OBJECTIVES.add("workers", None)
OBJECTIVES.add("samples", lambda sizes: sizes)

# An option that partitions share.
SMALLEST = {"smallest": whole("samples that each worker has at least", 32, at_least(1))}


def samples_by_class(labels: np.ndarray, parts: Parts, classes: int) -> np.ndarray:
    """The number of samples of each class on each worker, ``[n, classes]``."""
    return np.stack([np.bincount(labels[part], minlength=classes) for part in parts])


def sorted_parts(parts: Parts) -> Parts:
    """The parts, each sorted."""
    return [np.sort(part) for part in parts]


def parts_digest(parts: Parts) -> str:
    """16 hex digits of a partition: ``parts`` in ``about`` of a run's record."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part.tobytes())
    return digest.hexdigest()[:16]


def checked_parts(what: str, parts: Sequence[Any], n: int, m: int, least: int = 0) -> Parts:
    """The distinct samples out of m of ``n`` workers, int64, at ``least`` so many of each.

    Raises a UserError, which begins with ``what``, for anything else.
    """
    if len(parts) != n:
        raise UserError(f"{what} has {len(parts)} parts for {n} workers.")
    owner, checked = np.full(m, -1), []
    for i, given in enumerate(parts):
        try:
            part = np.asarray(given)
        except (TypeError, ValueError, RuntimeError):  # lists of several lengths
            part = np.empty(1, object)
        if indices := not part.size or (part.ndim == 1 and part.dtype.kind in "iu"):
            part = part.reshape(-1).astype(np.int64)
        problem = None
        if not indices:
            problem = f"its samples are {part.dtype} of shape {list(part.shape)}"
        elif part.size < least:
            problem = "it has no samples"
        elif len(outside := part[(part < 0) | (part >= m)]):
            problem = f"sample {outside[0]} is out of range"
        elif len(taken := part[owner[part] >= 0]):
            problem = f"sample {taken[0]} is worker {owner[taken[0]]}'s already"
        elif len(np.unique(part)) < len(part):
            problem = "it has a sample twice"
        if problem:
            raise UserError(
                f"{what}, worker {i}: {problem}; samples are whole numbers from 0 to {m - 1}, each "
                f"of one worker."
            )
        checked.append(part)
        owner[part] = i
    return checked


def check_range(key: str, value: int, limit: int, unit: str) -> None:
    """Raise a UserError if ``value`` is not between 1 and the number ``limit`` of ``unit``."""
    check(1 <= value <= limit, key, value, f"it must be 1 to {limit} ({unit})")


Read = Callable[[Path], np.ndarray]

OWNERS: Registry[Read] = Registry("owners of dataset", "ngo.data.sets")


def owners(dataset: str) -> Callable[[Read], Read]:
    """Register the decorated function ``root → array [m]`` as the owners of a data set.

    The array has the owner of each training sample, as a name or a number.
    """
    return registers(OWNERS, dataset, lambda read, _: read)


@cache
def by_owner(rule: Rule) -> bool:
    """Whether a partition divides the samples by their owners."""
    return next(iter(inspect.signature(rule.assign).parameters)) == "owners"


def sample_owners(dataset: str, root: Path) -> np.ndarray:
    """The owner of each training sample as the first argument of a partition, int64 ``[m, 1]``.

    Owners are numbered from 0 in the order of their names. (Labels are ``[m]``, so that they are
    not mistaken for owners.) A UserError unless each training sample has an owner.
    """
    folder, read = prepare(dataset, root), OWNERS[dataset]
    owners = np.asarray(read(folder))
    if brought(OWNERS, dataset):
        again = np.asarray(read(folder))
        if not np.array_equal(owners.astype(str), again.astype(str)):
            told = "its owners are others when they are read again; they must be the same"
            raise UserError(f"dataset {dataset!r}: {told}.")
    m = DATASETS[dataset].train_samples
    right, key = owners.shape == (m,), f"dataset {dataset!r}: the shape of its owners"
    check(right, key, owners.shape, f"it must be ({m},), one for each training sample")
    return np.unique(owners, return_inverse=True)[1].astype(np.int64)[:, None]


@partition("iid", smallest_share=lambda m, n: m // n)
def iid(labels: np.ndarray, n: int, *, generator: np.random.Generator) -> Parts:
    """Split a random permutation of the samples; the workers' shares differ by one at most."""
    check_range("workers", n, len(labels), "samples")
    return sorted_parts(np.array_split(generator.permutation(len(labels)), n))


@partition(
    "equal",
    smallest_share=lambda m, n, samples_per_worker: samples_per_worker,
    owned=lambda m, n, samples_per_worker: n * samples_per_worker,
)
def equal(
    labels: np.ndarray, n: int, *, samples_per_worker: int, generator: np.random.Generator
) -> Parts:
    """Give each worker ``samples_per_worker`` random samples (Section 5.5).

    The other samples are unused.
    """
    used = n * samples_per_worker
    check_range("workers × samples_per_worker", used, len(labels), "samples")
    return sorted_parts(np.split(generator.permutation(len(labels))[:used], n))


# What is true of partitions in which each worker has ``smallest`` samples.
FACTS = {"smallest_share": lambda m, n, beta, smallest: smallest, "options": SMALLEST}


@partition("quantity", **FACTS)
def quantity(
    labels: np.ndarray, n: int, *, beta: float, smallest: int, generator: np.random.Generator
) -> Parts:
    """Cut a random permutation of the samples into n shares (quantity skew, Li et al. 2022).

    Each worker has ``smallest`` samples, and the rest is divided in proportions drawn from
    Dir_n(β).
    """
    check_range("workers × smallest", n * smallest, len(labels), "samples")
    rest = len(labels) - n * smallest
    proportions = generator.dirichlet(np.full(n, beta))
    cuts = smallest * np.arange(1, n) + np.round(np.cumsum(proportions)[:-1] * rest).astype(int)
    return sorted_parts(np.split(generator.permutation(len(labels)), cuts))


def _owned(m: int, n: int, shards: int, shards_per_worker: int, **_: int) -> int:
    # The first m % shards shards have one sample more than the others.
    taken = n * shards_per_worker
    return taken * (m // shards) + min(taken, m % shards)


def _smallest(m: int, n: int, shards: int, shards_per_worker: int, **_: int) -> int:
    return (m // shards) * shards_per_worker


@partition("shards", by_label=True, smallest_share=_smallest, owned=_owned)
def shards(
    labels: np.ndarray,
    n: int,
    *,
    shards: int,
    shards_per_worker: int,
    generator: np.random.Generator,
) -> Parts:
    """Give each worker ``shards_per_worker`` random shards, without replacement.

    The other shards are unused. (In the paper's MNIST setting, 10 workers take 2 of 300 shards
    each, so 4,000 of 60,000 images.)
    """
    taken = n * shards_per_worker
    check_range("shards", shards, len(labels), "samples")
    check_range("workers × shards_per_worker", taken, shards, "shards")
    pool = np.array_split(np.argsort(labels, kind="stable"), shards)
    drawn = generator.permutation(shards)[:taken].reshape(n, shards_per_worker)
    return sorted_parts([np.concatenate([pool[s] for s in row]) for row in drawn])


CLIQUE = {"label_clique": whole("consecutive workers that have all labels", 10, at_least(1))}

#: The attempts to swap two workers, K in the paper.
SWAPS = 1000


@partition("cliques", by_label=True, smallest_share=_smallest, owned=_owned, options=CLIQUE)
def cliques(
    labels: np.ndarray,
    n: int,
    *,
    shards: int,
    shards_per_worker: int,
    label_clique: int,
    generator: np.random.Generator,
) -> Parts:
    """The parts of ``shards``, among the workers in the order of cliques found by Greedy Swap.

    Bellet et al. 2022 (arXiv 2104.07365), Algorithm 2: the cliques are random at first. Then, K =
    1,000 times, two random cliques swap a worker each, by a random one of the swaps that lower the
    sum of their skews; the skew of a clique is Σ_l |p_C(l) − p(l)|, for the shares of labels l in
    the clique and in all data. Clique k are the workers from k × ``label_clique`` on, as in the
    topology ``d_cliques`` with this ``clique_size``.
    """
    how = {"shards": shards, "shards_per_worker": shards_per_worker, "generator": generator}
    parts = PARTITIONS["shards"].assign(labels, n, **how)
    classes, codes = np.unique(labels, return_inverse=True)
    counts = samples_by_class(codes, parts, len(classes))
    order = greedy_swap(counts, np.bincount(codes) / len(codes), label_clique, generator)
    return [parts[i] for i in order]


def skew(counts: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Σ_l |p(l) − shares(l)| of cliques with these label counts ``[…, labels]``."""
    return np.abs(counts / counts.sum(-1, keepdims=True) - shares).sum(-1)


def greedy_swap(
    counts: np.ndarray, shares: np.ndarray, size: int, generator: np.random.Generator
) -> list[int]:
    """The workers in the order of cliques of this ``size``, given their ``counts`` of labels."""
    drawn = generator.permutation(len(counts))
    cliques = [drawn[k : k + size] for k in range(0, len(drawn), size)]
    for _ in range(SWAPS if len(cliques) > 1 else 0):
        a, b = (cliques[k] for k in generator.choice(len(cliques), 2, replace=False))
        A, B = counts[a], counts[b]
        moved = B[None] - A[:, None]  # what a gains and b loses if worker i of a and j of b swap
        after = skew(A.sum(0) + moved, shares) + skew(B.sum(0) - moved, shares)
        better = np.argwhere(after < skew(A.sum(0), shares) + skew(B.sum(0), shares) - 1e-12)
        if len(better):
            i, j = generator.choice(better)
            a[i], b[j] = b[j], a[i]
    return np.concatenate(cliques).tolist()


@partition("dirichlet", by_label=True)
def dirichlet(labels: np.ndarray, n: int, *, beta: float, generator: np.random.Generator) -> Parts:
    """Split each class among the workers in proportions drawn from Dir_n(β).

    All samples are used. With a small β a class goes to few workers, and a worker may get no
    samples.
    """
    check_range("workers", n, len(labels), "samples")
    pieces = []  # of each class, one for each worker
    for label in np.unique(labels):
        members = generator.permutation(np.flatnonzero(labels == label))
        shares = generator.dirichlet(np.full(n, beta))
        cuts = np.round(np.cumsum(shares)[:-1] * len(members)).astype(int)
        pieces.append(np.split(members, cuts))
    return sorted_parts([np.concatenate(worker) for worker in zip(*pieces, strict=True)])


ATTEMPTS = 1000


@partition("dirichlet_min", by_label=True, **FACTS)
def dirichlet_min(
    labels: np.ndarray, n: int, *, beta: float, smallest: int, generator: np.random.Generator
) -> Parts:
    """Draw ``dirichlet`` again until each worker has ``smallest`` samples (Li et al. 2022).

    Where the first draw has them, the partition is that of ``dirichlet``. A UserError if none of
    1,000 draws has.
    """
    check_range("workers × smallest", n * smallest, len(labels), "samples")
    for _ in range(ATTEMPTS):
        parts = dirichlet(labels, n, beta=beta, generator=generator)
        if min(len(part) for part in parts) >= smallest:
            return parts
    raise UserError(
        f"smallest: {smallest} samples for each of {n} workers are in none of {ATTEMPTS:,} draws "
        f"with beta {beta:g}; use a smaller value, fewer workers or a larger beta."
    )


@partition("natural")
def natural(owners: np.ndarray, n: int, *, generator: np.random.Generator) -> Parts:
    """Give each worker the samples of whole owners; ``owners`` is int64 ``[m, 1]``.

    With as many owners as workers, worker i gets the samples of the i-th owner. More owners are
    dealt out at random, and the workers' numbers of owners differ by one at most.
    """
    present, owner = np.unique(owners[:, 0], return_inverse=True)
    check_range("workers", n, len(present), "owners")
    order = np.arange(n) if len(present) == n else generator.permutation(len(present))
    return [np.flatnonzero(np.isin(owner, group)) for group in np.array_split(order, n)]
