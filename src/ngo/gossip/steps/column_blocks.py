"""A step in blocks of columns: columns of a state do not depend on each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ngo.common.lazy import torch
from ngo.native.pool import Map

# Elements of a block. With smaller blocks, threads spend their time handing over Python's lock,
# which each operation releases; larger ones would not stay in a core's cache.
BLOCK = 1 << 17

T = TypeVar("T")


def in_blocks(
    X: torch.Tensor, rows: int, step: Callable[[slice], T], spread: Map, *, blocks: int = 1
) -> list[T]:
    """The results of ``step`` for slices of all columns of ``X``, in order.

    A step's largest tensor has so many ``rows``, and about ``blocks`` · BLOCK elements; on a GPU as
    many as ``X`` if that is more.
    """
    d, elements = X.shape[1], blocks * BLOCK
    if X.is_cuda:
        elements = max(elements, X.numel())
    count = -(-d // max(elements // max(rows, 1), 1))
    width = -(-d // count)
    return spread(lambda k: step(slice(k * width, min((k + 1) * width, d))), count)
