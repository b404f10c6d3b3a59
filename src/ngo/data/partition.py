"""Partitions: rules that decide which worker owns which training sample, and the samples' owners.

A rule is a function ``(labels, n, *, generator, …)`` that returns one index array per worker. No
sample is in two of them. It is registered with ``@partition`` in ``ngo.data.partitions`` or
in a plugin. Its other keyword-only parameters have the names of fields of a run.

The owners of a data set are a function ``root → array [m]`` of names or numbers, registered with
``@owners``. A partition whose first parameter is called ``owners`` divides the samples by them.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from ngo.common.fields import Options, at_least, declare, whole
from ngo.common.registry import Registry, UserError
from ngo.data.dataset import DATASETS

Parts = list[np.ndarray]
Assign = Callable[..., Parts]


def all_samples(m: int, n: int, **fields: object) -> int:
    """``Rule.owned`` of a rule that gives every sample an owner."""
    return m


@dataclass(frozen=True)
class Rule:
    """A rule, and the facts about its partitions that hold for every draw."""

    assign: Assign

    # (m, n, **fields) → the smallest number of samples that a worker can get out of m; None if it
    # depends on the draw.
    smallest_share: Callable[..., int] | None

    # (m, n, **fields) → the largest number of samples, out of m, that can get an owner.
    owned: Callable[..., int]

    # Whether the rule needs a data set with classes.
    by_label: bool

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The fields of a run that the rule reads."""
        parameters = inspect.signature(self.assign).parameters.values()
        names = (p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        return tuple(name for name in names if name != "generator")

    def arguments(self, run: object) -> dict[str, object]:
        """The values of these fields in ``run``."""
        return {name: getattr(run, name) for name in self.fields}


PARTITIONS: Registry[Rule] = Registry("partition")


def partition(
    name: str,
    *,
    smallest_share: Callable[..., int] | None = None,
    owned: Callable[..., int] = all_samples,
    by_label: bool = False,
    options: Options | None = None,
    version: int = 1,
) -> Callable[[Assign], Assign]:
    """Register the decorated function as a rule. The arguments are those of ``Rule``.

    ``options`` are fields of a run that it adds. ``version`` is raised when its results change.
    """

    def register(assign: Assign) -> Assign:
        declare("partition", name, options)
        entry = Rule(assign, smallest_share, owned, by_label)
        PARTITIONS.add(name, entry, definition=assign, version=version)
        return assign

    return register


#: What is done where a worker owns fewer samples than a batch has: the run is refused; samples
#: come again within a batch; or the worker's batch is all that it owns.
SHORT_SHARES: Registry[str] = Registry("short_share")
REFUSED, REPEATED, WHOLE = (SHORT_SHARES.add(name, name) for name in ("error", "repeat", "whole"))

# An option that partitions share.
SMALLEST = {"smallest": whole("samples that each worker has at least", 32, at_least(1))}


def samples_by_class(labels: np.ndarray, parts: Parts, classes: int) -> np.ndarray:
    """The number of samples of each class on each worker, ``[n, classes]``."""
    labels = np.asarray(labels)
    return np.stack([np.bincount(labels[part], minlength=classes) for part in parts])


def sorted_parts(parts: Parts) -> Parts:
    """The parts, each sorted."""
    return [np.sort(part) for part in parts]


def parts_digest(parts: Parts) -> str:
    """16 hex digits of a partition, as in the record of a run (``about.parts``)."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part.tobytes())
    return digest.hexdigest()[:16]


def check_parts(name: str, parts: Parts, n: int, m: int) -> None:
    """Raise a UserError unless partition ``name`` gave ``n`` workers distinct samples out of m."""
    problem = None
    if len(parts) != n:
        problem = f"has {len(parts)} parts for {n} workers"
    elif any(np.ndim(part) != 1 or np.asarray(part).dtype.kind not in "iu" for part in parts):
        problem = "has a part that is not an array of sample indices"
    else:
        samples = np.concatenate(parts)
        if len(samples) and (samples.min() < 0 or samples.max() >= m):
            problem = f"has an index outside 0 to {m - 1}"
        elif len(np.unique(samples)) < len(samples):
            problem = "gives a sample to two workers, or twice to one"
    if problem is not None:
        raise UserError(f"partition: {name!r} {problem}.")


def check_range(key: str, value: int, limit: int, unit: str) -> None:
    """Raise a UserError if ``value`` is not between 1 and the number ``limit`` of ``unit``."""
    if not 1 <= value <= limit:
        raise UserError(f"{key}: {value} is out of range; it must be 1 to {limit} ({unit})")


Read = Callable[[Path], np.ndarray]

OWNERS: Registry[Read] = Registry("owners of dataset")


def owners(dataset: str) -> Callable[[Read], Read]:
    """Register the decorated function ``root → array [m]`` as the owners of a data set.

    The array has the owner of each training sample, as a name or a number.
    """

    def register(read: Read) -> Read:
        return OWNERS.add(dataset, read, definition=read)

    return register


@cache
def by_owner(rule: Rule) -> bool:
    """Whether a partition divides the samples by their owners."""
    return next(iter(inspect.signature(rule.assign).parameters)) == "owners"


def sample_owners(dataset: str, root: Path) -> np.ndarray:
    """The owner of each training sample as the first argument of a partition, int64 ``[m, 1]``.

    Owners are numbered from 0 in the order of their names. (Labels are ``[m]``, so that they are
    not mistaken for owners.) A UserError unless each training sample has an owner.
    """
    found = np.asarray(OWNERS[dataset](root))
    m = DATASETS[dataset].train_samples
    if found.shape != (m,):
        raise UserError(
            f"dataset {dataset!r}: its owners have shape {found.shape}; expected ({m},), one for "
            f"each training sample."
        )
    return np.unique(found, return_inverse=True)[1].astype(np.int64)[:, None]
