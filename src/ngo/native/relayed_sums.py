"""Sums that are relayed along the edges of a tree, on a CPU, compiled from ``relayed_sums.c``."""

from __future__ import annotations

from functools import partial

from ngo.common.lazy import torch
from ngo.native.arguments import POINTER, SIZE, check_tensor, pointers
from ngo.native.build import constant, function
from ngo.native.pool import Map, in_order
from ngo.native.shared_work import share

ARGUMENTS = [POINTER, POINTER, SIZE, *[POINTER] * 4, SIZE, SIZE, POINTER, POINTER]


def relayed_sums(
    X: torch.Tensor,
    received: torch.Tensor,
    starts: torch.Tensor,
    senders: torch.Tensor,
    turned: torch.Tensor,
    counts: torch.Tensor,
    *,
    spread: Map = in_order,
) -> None:
    """Relay rows ``X`` ``[n, d]`` along all edges, and replace them by means, in place.

    Row e of ``received`` ``[e, d + 1]`` came along edge e; its last number does not change. The
    edges to worker i are from ``starts[i]`` ``[n + 1]`` on, from the workers ``senders`` ``[e]``.
    ``turned`` ``[e]`` are the places of the edges in the other direction. Worker i sends X_i and
    all that it has received, but for what came from j, to each neighbour j. Then X_i becomes the
    sum of X_i and of all that it now receives, over ``counts`` ``[n, 1]``. Matrices are contiguous
    and float32, edges int64; others raise ValueError. ``spread``
    distributes columns over threads.
    """
    (n, d), edges = X.shape, len(senders)
    check_tensor("X", X, (n, d))
    check_tensor("received", received, (edges, d + 1))
    check_tensor("counts", counts, (n, 1))
    for name, each in {"starts": starts, "senders": senders, "turned": turned}.items():
        check_tensor(name, each, (n + 1 if name == "starts" else edges,), torch.int64)
    step = partial(
        function("ngo_relayed_sums", ARGUMENTS),
        *pointers(X, received), d + 1, *pointers(starts, senders, turned, counts), n, d,
    )  # fmt: skip
    share(step, n * d, n * constant("ngo_relayed_sums_width"), spread)
