"""One gossip step with φ_p, by the implementation that suits the state."""

from __future__ import annotations

from ngo.common.lazy import torch
from ngo.gossip.mixing_matrix import Matrix, MixingMatrix
from ngo.gossip.phi import exponent, power_
from ngo.gossip.steps.along_edges import step_along_edges
from ngo.gossip.steps.linear import linear_step
from ngo.native import gossip_step as compiled
from ngo.native.pool import Map, in_order
from ngo.native.shared_work import fits


def gossip_step(
    X: torch.Tensor,
    W: Matrix,
    gamma: float,
    p: float,
    *,
    at: torch.Tensor | None = None,
    out: torch.Tensor | None = None,
    spread: Map = in_order,
    sums: bool = True,
) -> torch.Tensor:
    """The consensus step of Algorithm 1, for all workers at once: x_i + γ Σ_j W_ij φ_p(x_j − x_i).

    The new state ``[n, d]`` is written to ``out``, or to new memory; ``out`` may be ``X``. The
    differences are those of ``at`` ``[n, d]``, or of ``X``. With a past state as ``at``, this is
    the delayed step (equation "delay"). ``W`` is symmetric, dense ``[n, n]`` or as edges; its
    diagonal is ignored. The mean of the rows is conserved. ``spread`` distributes columns over
    threads.

    For p = 1 a row's step is a weighted sum of its neighbours' rows; with many edges, a dense
    product. In float32, rounding then moves the mean by up to 1e-7 of the rows. Otherwise, and
    without ``sums``, φ is computed once for each undirected edge. Both are compiled code where the
    state allows it. On a GPU with Triton, one kernel takes the nonlinear step. A thread needs
    memory for a few blocks of columns, in addition to the new state.
    """
    e, W = exponent(p), MixingMatrix.of(W)
    at = X if at is None else at
    linear = sums and p == 1
    if X.is_cuda and not linear:
        from ngo.native import fused  # imports Triton

        if fused.available(X.device):
            there = W.on(X.device, X.dtype)
            new = fused.gossip_step(X, (*there.places, there.weights), gamma, p, at)
            return new if out is None else out.copy_(new)
    out = torch.empty_like(X) if out is None else out
    if linear:
        return linear_step(X, W, gamma, at=at, out=out, spread=spread)
    if fits(X, at, out):
        compiled.gossip(at, X, out, W.pairs, gamma, e, spread=spread)
        return out

    def pull(z: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        return torch.sign(z).mul_(gamma * weights).mul_(power_(z, e))

    return step_along_edges(X, W, pull, at=at, out=out, spread=spread)
