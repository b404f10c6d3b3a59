"""Gossip steps, and sums that are relayed along a tree, on a CPU, compiled.

States are contiguous float32 ``[n, d]``, and ``new`` may be one of the others. ``spread``
distributes columns over threads. Tensors of other shapes and types raise ValueError.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ngo.common.lazy import torch
from ngo.native.build import DOUBLE, POINTER, SIZE, check_tensor, constant, function, pointers
from ngo.native.threads import Map, in_order, share

PULLS = [
    *[POINTER] * 6, SIZE, *[DOUBLE] * 2, SIZE, DOUBLE, POINTER, SIZE, DOUBLE, *[SIZE] * 2,
    *[POINTER] * 2,
]  # fmt: skip
RELAY = [*[POINTER] * 2, SIZE, *[POINTER] * 4, SIZE, SIZE, *[POINTER] * 2]
SUMS = [*[POINTER] * 7, *[DOUBLE] * 3, *[SIZE] * 2, *[POINTER] * 2]

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
    limit: Limit | None = None,
    *,
    spread: Map = in_order,
) -> None:
    """new_i ← X_i + γ Σ_j W_ij sign(z)|z|^e, where z = seen_j − seen_i, with a limit of the pulls.

    ``pairs`` are the edges' two ends, int64 ``[e]``, and their weights, float64: each edge once.
    """
    (n, d), limit, cells = X.shape, limit or Limit(), 0
    _check_states((n, d), seen=seen, X=X, new=new)
    _check_edges(*pairs)
    if limit.table is not None:
        cells = limit.table.shape[-1]
        check_tensor("table", limit.table, (2, 2, cells))
    step = partial(
        function("ngo_gossip", PULLS),
        *pointers(seen, X, new, *pairs), pairs[2].shape[0], gamma, e, limit.kind,
        limit.cap, *pointers(limit.table), cells, limit.offset, n, d,
    )  # fmt: skip
    share(step, n * d, _work(n, d), spread)


def sums(
    seen: torch.Tensor,
    X: torch.Tensor | None,
    new: torch.Tensor,
    rows: Sequence[torch.Tensor],
    self_weights: tuple[float, float, torch.Tensor],
    gamma: float,
    *,
    spread: Map = in_order,
) -> None:
    """new_i ← X_i + w_i seen_i + γ Σ_j W_ij seen_j; without X_i if ``X`` is None.

    ``rows`` are the starts ``[n + 1]`` of rows, the senders j ``[e]`` and the weights, in CSR.
    ``self_weights`` are a, b and v, float64 ``[n]``: w_i = a + b v_i.
    """
    starts, senders, weights = rows
    first, slope, values = self_weights
    n, d = seen.shape
    _check_states((n, d), seen=seen, X=seen if X is None else X, new=new)
    check_tensor("starts", starts, (n + 1,), torch.int64)
    _check_edges(senders, senders, weights)
    check_tensor("self_weights", values, (n,), torch.float64)
    step = partial(
        function("ngo_sums", SUMS),
        *pointers(seen, X, new, starts, senders, weights, values), first, slope, gamma, n, d,
    )  # fmt: skip
    share(step, n * d, _work(n, d), spread)


def _check_states(shape: tuple[int, ...], **states: torch.Tensor) -> None:
    for name, state in states.items():
        check_tensor(name, state, shape)


def _check_edges(i: torch.Tensor, j: torch.Tensor, weights: torch.Tensor) -> None:
    for name, ends in {"i": i, "j": j}.items():
        check_tensor(name, ends, weights.shape, torch.int64)
    check_tensor("weights", weights, i.shape, torch.float64)


def _work(n: int, d: int) -> int:
    """The floats that a thread needs."""
    return n * min(constant("ngo_gossip_width"), (d + 15) // 16 * 16)


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
    for name, edge_numbers in {"starts": starts, "senders": senders, "turned": turned}.items():
        check_tensor(name, edge_numbers, (n + 1 if name == "starts" else edges,), torch.int64)
    step = partial(
        function("ngo_relayed_sums", RELAY),
        *pointers(X, received), d + 1, *pointers(starts, senders, turned, counts), n, d,
    )  # fmt: skip
    share(step, n * d, n * constant("ngo_relayed_sums_width"), spread)
