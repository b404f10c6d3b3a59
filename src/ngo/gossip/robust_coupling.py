"""Couplings for Byzantine workers: clipped differences, the median and the trimmed mean."""

from __future__ import annotations

from typing import Any

from ngo.common.fields import above, at_least, number, whole
from ngo.common.lazy import Run, Tensor, torch
from ngo.gossip.coupling import coupling
from ngo.gossip.gossip_step import in_blocks, linear_step, step_along_edges
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.native.threads import Map

DELTA = {
    "delta_max": number("largest weight of all Byzantine neighbours, δ_max", 1 / 3, above(0, 1))
}
CLIP = {"clip": number("largest length of a difference that counts in full, τ", 1.0, above(0))}


@coupling("clipped", options=CLIP, whole=True)
def clipped(
    X: Tensor, W: MixingMatrix, gamma: float, run: Run, *, at: Tensor, out: Tensor, spread: Map
) -> Tensor:
    """ClippedGossip (He, Karimireddy and Jaggi 2022): γ W_ij z, for the whole difference z of two
    models, shortened to the length τ = ``clip`` at most.

    This is Algorithm 1 with one τ for all workers and steps.
    """
    i, j, _ = W.on(at, "pairs")
    lengths = _lengths(at, i, j, spread)
    factors = (gamma * run.clip / lengths.clamp_min(run.clip))[:, None]

    def pull(z: Tensor, weights: Tensor) -> Tensor:
        return z.mul_(factors * weights)

    return step_along_edges(X, W, pull, at=at, out=out, spread=spread)


@coupling("clipped_adaptive", options=DELTA, whole=True)
def clipped_adaptive(
    X: Tensor, W: MixingMatrix, gamma: float, run: Run, *, at: Tensor, out: Tensor, spread: Map
) -> Tensor:
    """ClippedGossip (He, Karimireddy and Jaggi 2022) with a radius τ_i for each worker and step.

    τ_i² = Σ_j W_ij ‖x_j − x_i‖² / δ_max. In the theory the sum is over the honest neighbours, which
    no worker knows. Here it is over the closest ones: those furthest away, with a weight of at
    least ``delta_max``, are left out, as in the practical rule of the paper. A worker whose
    neighbours may all be Byzantine does not move. The mean is not conserved.
    """
    i, j = W.receivers.to(at.device), W.senders.to(at.device)
    lengths = _lengths(at, i, j, spread).double().cpu()
    order = lengths.argsort(stable=True)
    order = order[W.receivers[order].argsort(stable=True)]  # by the receiver, then by the length
    far = W.starts[1:][W.receivers] - 1
    weight = W.weights[order].cumsum(0)
    beyond = torch.empty_like(weight)
    beyond[order] = weight[far] - weight  # the weight of the neighbours that are further away
    near = beyond >= run.delta_max - 1e-9
    squares = torch.where(near, W.weights * lengths.square(), 0) / run.delta_max
    radius = torch.bincount(W.receivers, squares, W.n).sqrt()[W.receivers]
    kept = torch.where(lengths <= radius, 1, radius / lengths)
    shorter = MixingMatrix(W.n, W.receivers, W.senders, W.weights * kept, W.diagonal, in_order=True)
    return linear_step(X, shorter, gamma, at=at, out=out, spread=spread)


def _lengths(at: Tensor, i: Tensor, j: Tensor, spread: Map) -> Tensor:
    """‖y_j − y_i‖ of rows y of ``at``, for each pair (i, j), which needs whole rows."""

    def squares(part: slice) -> Tensor:
        return (at[:, part][j] - at[:, part][i]).square_().sum(1)

    return torch.stack(in_blocks(at, len(i), squares, spread)).sum(0).sqrt_()


@coupling("median", whole=True)
def median(X: Tensor, W: MixingMatrix, gamma: float, run: Run, **how: Any) -> Tensor:
    """The median of a worker and its neighbours in each entry (Yin et al. 2018).

    x_i ← x_i + γ (m_i − x_i), where m_i of an even number of values is the mean of the two in the
    middle. At γ = 1 this is BRIDGE-M (Fang, Yang and Bajwa 2022). Edges count alike, and the mean
    is not conserved.
    """
    return trimmed_step(X, W, gamma, W.n, **how)


TRIM = {"trim": whole("values left out at each end of a trimmed mean, b", 1, at_least(0))}


@coupling("trimmed_mean", options=TRIM, whole=True)
def trimmed_mean(X: Tensor, W: MixingMatrix, gamma: float, run: Run, **how: Any) -> Tensor:
    """The trimmed mean of a worker and its neighbours in each entry (Yin et al. 2018).

    x_i ← x_i + γ (m_i − x_i), where m_i leaves out the b = ``trim`` largest and the b smallest
    values, or as many as leave one or two. Edges count alike, as in the experiments of He,
    Karimireddy and Jaggi (2022). The mean is not conserved. BRIDGE-T (Fang, Yang and Bajwa 2022)
    trims the neighbours' values alone, and always keeps the worker's own.
    """
    return trimmed_step(X, W, gamma, run.trim, **how)


def trimmed_step(
    X: Tensor, W: MixingMatrix, gamma: float, trim: int, *, at: Tensor, out: Tensor, spread: Map
) -> Tensor:
    """x_i + γ (m_i − y_i), with m_i the mean of y_i and its neighbours' y_j, trimmed by entry.

    y are the rows of ``at``. Of c values, the ``trim`` largest and the ``trim`` smallest are left
    out, or as many as leave one value (for odd c) or two. The weights of edges do not count.
    """
    n = len(X)
    counts = W.starts.diff() + 1
    slots = torch.arange(int(counts.max()))
    # The worker of each slot of a neighbourhood; n is that of a row of infinity, which sorts last.
    members = torch.full((n, len(slots)), n)
    members[:, 0] = torch.arange(n)
    members[W.receivers, 1 + torch.arange(W.edges) - W.starts[W.receivers]] = W.senders
    low = (counts - 1).div(2, rounding_mode="floor").clamp_max(trim)[:, None]
    dropped = (slots < low) | (slots >= counts[:, None] - low)
    kept = (~dropped).sum(1, keepdim=True).to(X)
    members, dropped = members.to(X.device), dropped.to(X.device)[:, :, None]

    def step(part: slice) -> None:
        rows = at[:, part]
        values = torch.cat([rows, rows.new_full((1, rows.shape[1]), torch.inf)])[members]
        mean = values.sort(1).values.masked_fill_(dropped, 0).sum(1).div_(kept)
        out[:, part] = X[:, part] + gamma * (mean - rows)

    in_blocks(X, members.numel(), step, spread)
    return out
