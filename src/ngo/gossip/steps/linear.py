"""Linear steps: the step for p = 1, and the product with W."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ngo.gossip.mixing_matrix import MixingMatrix, Parts
from ngo.gossip.steps import column_blocks, compiled
from ngo.native.pool import Map

# The most workers for which torch multiplies by a dense matrix, also if there are few edges.
DENSE = 256

# The factors [n] of the rows themselves, from the parts of a matrix.
Own = Callable[["MixingMatrix | Parts"], torch.Tensor]


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
        return _sums(None, W, lambda W: 1 - gamma * W.received, gamma, at, out, spread)
    return _sums(X, W, lambda W: -gamma * W.received, gamma, at, out, spread)


def mix(X: torch.Tensor, W: MixingMatrix, gamma: float = 1.0, *, spread: Map) -> None:
    """Replace ``X`` by X + γ (W X − X)."""
    _sums(None, W, lambda W: (1 - gamma) + gamma * W.diagonal, gamma, X, X, spread)


def _sums(
    X: torch.Tensor | None,
    W: MixingMatrix,
    own: Own,
    gamma: float,
    at: torch.Tensor,
    out: torch.Tensor,
    spread: Map,
) -> torch.Tensor:
    """``X`` + own_i at_i + γ Σ_j W_ij at_j: a dense product where most pairs are edges."""
    if not W.crowded and compiled.fits(at, out, at if X is None else X):
        return compiled.compiled_sums(X, W, own(W), gamma, at=at, out=out, spread=spread)
    there = W.on(at.device, at.dtype)
    if W.crowded or W.n <= DENSE:
        rows = W.n
        factor = gamma * there.dense
        factor.diagonal().copy_(own(there))

        def sums(seen: torch.Tensor) -> torch.Tensor:
            return factor @ seen

    else:
        rows = W.edges
        starts, senders = there.places
        weights, own_weights = gamma * there.weights[:, None], own(there)[:, None]

        def sums(seen: torch.Tensor) -> torch.Tensor:
            terms = seen[senders].mul_(weights)
            new = torch.segment_reduce(terms, "sum", offsets=starts, axis=0, unsafe=True)
            return new.addcmul_(seen, own_weights)

    def step(part: slice) -> None:
        new = sums(at[:, part])
        out[:, part] = new if X is None else new.add_(X[:, part])

    # A product is cheap: handing a small block to another thread would cost as much.
    column_blocks.in_blocks(at, rows, step, spread, blocks=4)
    return out
