"""Gossip steps on a CPU, compiled from ``gossip_step.c``.

States are contiguous float32 ``[n, d]``, and ``new`` may be one of the others. ``taken`` counts the
columns that threads have claimed: threads that pass the same counter, initially 0, share the work.
Tensors of other shapes and types raise ValueError.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ngo.native.arguments import DOUBLE, POINTER, SIZE, check_tensor, pointers
from ngo.native.build import function, library

PULLS = [
    *[POINTER] * 6, SIZE, *[DOUBLE] * 2, SIZE, DOUBLE, POINTER, SIZE, DOUBLE, *[SIZE] * 2,
    *[POINTER] * 2,
]  # fmt: skip
SUMS = [*[POINTER] * 7, DOUBLE, *[SIZE] * 2, *[POINTER] * 2]

FREE, CAPPED, IMPLICIT = range(3)

# Leading bits of a float that number a cell of ``Limit.table``: sign, exponent, 8 of the mantissa.
CELL_BITS = 15


@dataclass(frozen=True)
class Limit:
    """The limit of a pull along an edge."""

    kind: int = FREE
    #: CAPPED: the longest pull, in units of W_ij z.
    cap: float = 0.0
    #: IMPLICIT: by which a pull is multiplied, float32 ``[2, 2, cells]``: first numbers and slopes
    #: of chords in |y|, for y ≥ 0 and y < 0. Cell k begins where the leading bits of |y| + offset
    #: are k more than those of ``offset``, a power of 2.
    table: torch.Tensor | None = None
    offset: float = 1.0


def gossip(
    seen: torch.Tensor,
    X: torch.Tensor,
    new: torch.Tensor,
    pairs: Sequence[torch.Tensor],
    gamma: float,
    e: float,
    taken: ctypes.c_int64,
    limit: Limit = Limit(),  # it is not changed
) -> None:
    """new_i ← X_i + γ Σ_j W_ij sign(z)|z|^e, where z = seen_j − seen_i, with a limit of the pulls.

    ``pairs`` are the edges' two ends, int64 ``[e]``, and their weights, float64: each edge once.
    """
    _check_states(seen=seen, X=X, new=new)
    _check_edges(len(X), *pairs)
    work, cells = _workspace(X), 0
    if limit.table is not None:
        cells = limit.table.shape[-1]
        check_tensor("table", limit.table, (2, 2, cells))
    function("ngo_gossip", PULLS)(
        *pointers(seen, X, new, *pairs), len(pairs[2]), gamma, e, limit.kind,
        limit.cap, *pointers(limit.table), cells, limit.offset, *X.shape,
        ctypes.byref(taken), work.data_ptr(),
    )  # fmt: skip


def sums(
    seen: torch.Tensor,
    X: torch.Tensor | None,
    new: torch.Tensor,
    rows: Sequence[torch.Tensor],
    own: torch.Tensor,
    gamma: float,
    taken: ctypes.c_int64,
) -> None:
    """new_i ← X_i + own_i seen_i + γ Σ_j W_ij seen_j; without X_i if ``X`` is None.

    ``rows`` are the starts ``[n + 1]`` of rows, the senders j ``[e]`` and the weights, in CSR.
    ``own`` is float64 ``[n]``.
    """
    starts, senders, weights = rows
    _check_states(seen=seen, X=seen if X is None else X, new=new)
    check_tensor("starts", starts, (len(seen) + 1,), torch.int64)
    _check_edges(len(seen), senders, senders, weights)
    check_tensor("own", own, (len(seen),), torch.float64)
    work = _workspace(seen)
    function("ngo_sums", SUMS)(
        *pointers(seen, X, new, starts, senders, weights, own), gamma, *seen.shape,
        ctypes.byref(taken), work.data_ptr(),
    )  # fmt: skip


def _check_states(**states: torch.Tensor) -> None:
    for name, state in states.items():
        check_tensor(name, state, states["seen"].shape)


def _check_edges(n: int, i: torch.Tensor, j: torch.Tensor, weights: torch.Tensor) -> None:
    for name, ends in {"i": i, "j": j}.items():
        check_tensor(name, ends, weights.shape, torch.int64)
    check_tensor("weights", weights, (len(i),), torch.float64)


def _workspace(X: torch.Tensor) -> torch.Tensor:
    width = ctypes.c_int64.in_dll(library(), "ngo_gossip_width").value
    return X.new_empty(len(X) * min(width, X.shape[1]))
