"""Linear steps: the step for p = 1, and the product with W."""

from __future__ import annotations

from ngo.common.lazy import torch
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.steps import column_blocks
from ngo.native import gossip_step
from ngo.native.pool import Map
from ngo.native.shared_work import fits

# The most workers for which torch multiplies by a dense matrix, also if there are few edges.
DENSE = 256

# The most workers for which compiled code takes edge after edge, also where most pairs are edges:
# the rows of a block of columns stay in a core's first-level cache.
FEW = 32


def linear_step(
    X: torch.Tensor,
    W: MixingMatrix,
    gamma: float,
    *,
    at: torch.Tensor,
    out: torch.Tensor,
    spread: Map,
) -> torch.Tensor:
    """X − γL(W)Y, with the differences of ``at`` = Y; ``at`` may be ``X``."""
    if at is X:
        return _sums(None, W, (1, -gamma, "received"), gamma, at, out, spread)
    return _sums(X, W, (0, -gamma, "received"), gamma, at, out, spread)


def mix(X: torch.Tensor, W: MixingMatrix, gamma: float = 1.0, *, spread: Map) -> None:
    """Replace ``X`` by X + γ (W X − X)."""
    _sums(None, W, (1 - gamma, gamma, "diagonal"), gamma, X, X, spread)


def _sums(
    X: torch.Tensor | None,
    W: MixingMatrix,
    own: tuple[float, float, str],
    gamma: float,
    at: torch.Tensor,
    out: torch.Tensor,
    spread: Map,
) -> torch.Tensor:
    """``X`` + own_i at_i + γ Σ_j W_ij at_j: a dense product where most pairs are edges.

    ``own`` are a, b and the name of v: own_i = a + b v_i.
    """
    a, b, v = own
    if (not W.crowded or W.n <= FEW) and fits(at, out, at if X is None else X):
        rows = W.starts, W.senders, W.weights
        gossip_step.sums(at, X, out, rows, (a, b, getattr(W, v)), gamma, spread=spread)
        return out
    there = W.on(at.device, at.dtype)
    factors = a + b * getattr(there, v)
    if W.crowded or W.n <= DENSE:
        count = W.n
        factor = gamma * there.dense
        factor.diagonal().copy_(factors)

        def sums(seen: torch.Tensor) -> torch.Tensor:
            return factor @ seen

    else:
        count = W.edges
        starts, senders = there.places
        weights, own_weights = gamma * there.weights[:, None], factors[:, None]

        def sums(seen: torch.Tensor) -> torch.Tensor:
            terms = seen[senders].mul_(weights)
            new = torch.segment_reduce(terms, "sum", offsets=starts, axis=0, unsafe=True)
            return new.addcmul_(seen, own_weights)

    def step(part: slice) -> None:
        new = sums(at[:, part])
        out[:, part] = new if X is None else new.add_(X[:, part])

    # A product is cheap: handing a small block to another thread would cost as much.
    column_blocks.in_blocks(at, count, step, spread, blocks=4)
    return out
