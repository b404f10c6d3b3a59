"""Sums that are relayed along the edges of a tree, on a CPU, compiled from ``relayed_sums.c``."""

from __future__ import annotations

import ctypes

import torch

from ngo.native.arguments import POINTER, SIZE, check_tensor, pointers
from ngo.native.build import function, library

ARGUMENTS = [POINTER, POINTER, SIZE, *[POINTER] * 4, SIZE, SIZE, POINTER, POINTER]


def relayed_sums(
    X: torch.Tensor,
    received: torch.Tensor,
    starts: torch.Tensor,
    senders: torch.Tensor,
    turned: torch.Tensor,
    counts: torch.Tensor,
    taken: ctypes.c_int64,
) -> None:
    """Relay rows ``X`` ``[n, d]`` along all edges, and replace them by means, in place.

    Row e of ``received`` ``[e, d + 1]`` came along edge e; its last number does not change. The
    edges to worker i are from ``starts[i]`` ``[n + 1]`` on, from the workers ``senders`` ``[e]``.
    ``turned`` ``[e]`` are the places of the edges in the other direction. Worker i sends X_i and
    all that it has received, but for what came from j, to each neighbour j. Then X_i becomes the
    sum of X_i and of all that it now receives, over ``counts`` ``[n, 1]``. Matrices are contiguous
    and float32, edges int64; others raise ValueError. ``taken`` counts the columns that threads
    have claimed: threads that pass the same counter, initially 0, share the work.
    """
    (n, d), edges = X.shape, len(senders)
    check_tensor("X", X, (n, d))
    check_tensor("received", received, (edges, d + 1))
    check_tensor("counts", counts, (n, 1))
    for name, each in {"starts": starts, "senders": senders, "turned": turned}.items():
        check_tensor(name, each, (n + 1 if name == "starts" else edges,), torch.int64)
    width = ctypes.c_int64.in_dll(library(), "ngo_relayed_sums_width").value
    work = X.new_empty(n * width)
    function("ngo_relayed_sums", ARGUMENTS)(
        *pointers(X, received), d + 1, *pointers(starts, senders, turned, counts), n, d,
        ctypes.byref(taken), work.data_ptr(),
    )  # fmt: skip
