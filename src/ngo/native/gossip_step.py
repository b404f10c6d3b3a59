"""Gossip steps, and sums that are relayed along a tree, on a CPU, compiled.

States are contiguous float32 ``[n, d]``, and ``new`` may be one of the others. ``spread``
distributes columns over threads. Tensors of other shapes and types raise ValueError.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

from ngo.common.lazy import torch
from ngo.native.threads import Map, check_tensors, constant, in_order, share

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


UNLIMITED = Limit()


def gossip(
    seen: torch.Tensor,
    X: torch.Tensor,
    new: torch.Tensor,
    pairs: Sequence[torch.Tensor],
    gamma: float,
    e: float,
    limit: Limit = UNLIMITED,
    *,
    spread: Map = in_order,
) -> None:
    """new_i ← X_i + γ Σ_j W_ij sign(z)|z|^e, where z = seen_j − seen_i, with a limit of the pulls.

    ``pairs`` are the edges' two ends, int64 ``[e]``, and their weights, float64: each edge once.
    """
    (n, d), cells = X.shape, 0
    check_tensors((n, d), seen=seen, X=X, new=new)
    _check_edges(*pairs)
    if limit.table is not None:
        cells = limit.table.shape[-1]
        check_tensors((2, 2, cells), table=limit.table)
    pull = *pairs, len(pairs[2]), float(gamma), float(e), _power(float(e))
    most = limit.kind, float(limit.cap), limit.table, cells, limit.offset
    _share("ngo_gossip", seen, X, new, *pull, *most, n, d, spread=spread)


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
    check_tensors((n, d), seen=seen, X=seen if X is None else X, new=new)
    check_tensors((n + 1,), torch.int64, starts=starts)
    _check_edges(senders, senders, weights)
    check_tensors((n,), torch.float64, self_weights=values)
    factors = map(float, (first, slope, gamma))
    _share("ngo_sums", seen, X, new, *rows, values, *factors, n, d, spread=spread)


@lru_cache(maxsize=64)
def _power(e: float) -> np.ndarray:
    """``power`` of gossip_step.c as float32 numbers; the polynomial is exact where |z| is 2^k."""
    k = np.arange(-127.0, 129)
    with np.errstate(over="ignore"):
        scales, tiny = np.exp2(e * np.stack([k, k - 32])).astype(np.float32)
    scales[255], scales[0], tiny[0] = 0 if e < 0 else np.inf, 0, 0
    fine, coarse = scales[112:128].copy(), scales[15::16].copy()
    if plain := 0 < e < 1:
        scales[16:240] = np.outer(coarse, fine)[1:15].ravel()
    coarse[0] = 0
    count = 8 if plain else 11
    reach = 0.5 / np.cos(np.pi / 2 / count)  # the nodes at the ends are 0 and 1
    fit = Chebyshev.interpolate(lambda m: (1 + m) ** e, count - 1, [0.5 - reach, 0.5 + reach])
    terms = fit.convert(kind=Polynomial).coef.astype(np.float32)
    return np.concatenate([scales, -scales, tiny, -tiny, fine, coarse, terms])


def _check_edges(i: torch.Tensor, j: torch.Tensor, weights: torch.Tensor) -> None:
    check_tensors(weights.shape, torch.int64, i=i, j=j)
    check_tensors(i.shape, torch.float64, weights=weights)


def _share(name: str, *arguments: Any, spread: Map) -> None:
    n, d = arguments[-2:]
    width = min(constant("ngo_gossip_width"), (d + 15) // 16 * 16)
    width = max(constant("ngo_gossip_stride"), width)
    share(name, *arguments, elements=n * d, work=n * width, spread=spread)


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
    check_tensors((n, d), X=X)
    check_tensors((edges, d + 1), received=received)
    check_tensors((n, 1), counts=counts)
    check_tensors((n + 1,), torch.int64, starts=starts)
    check_tensors((edges,), torch.int64, senders=senders, turned=turned)
    arguments = X, received, d + 1, starts, senders, turned, counts, n, d
    work = n * constant("ngo_relayed_sums_width")
    share("ngo_relayed_sums", *arguments, elements=n * d, work=work, spread=spread)
