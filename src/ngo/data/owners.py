"""Owners of training samples, for partitions that keep the samples of an owner together.

The owners of a data set are a function ``root → array [m]`` of names or numbers, registered with
``@owners``. A partition whose first parameter is called ``owners`` divides the samples by them; the
first parameter of any other partition is the labels.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from ngo.common.registry import Registry, UserError
from ngo.data.dataset import DATASETS
from ngo.data.partition import Rule

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
