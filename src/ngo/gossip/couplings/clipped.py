"""Clipped gossip: a worker that is far from its neighbours moves them only a little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.common.fields import above, number
from ngo.gossip.coupling import coupling
from ngo.native.pool import Map

if TYPE_CHECKING:
    import torch

    from ngo.gossip.mixing_matrix import MixingMatrix
    from ngo.gossip.step import Run

CLIP = {"clip": number("largest length of a difference that counts in full, τ", 1.0, above(0))}


def fast_clipped(
    X: torch.Tensor,
    W: MixingMatrix,
    gamma: float,
    run: Run,
    *,
    at: torch.Tensor,
    out: torch.Tensor,
    spread: Map,
) -> torch.Tensor:
    """The step along edges, after the lengths ‖x_j − x_i‖ of all edges, which need whole rows."""
    import torch

    from ngo.gossip.steps.along_edges import step_along_edges
    from ngo.gossip.steps.column_blocks import in_blocks

    i, j, _ = W.on(at.device, at.dtype).pairs

    def squares(part: slice) -> torch.Tensor:
        return (at[:, part][j] - at[:, part][i]).square_().sum(1)

    lengths = torch.stack(in_blocks(at, W.edges, squares, spread)).sum(0).sqrt_()
    factors = (gamma * run.clip / lengths.clamp_min(run.clip))[:, None]

    def pull(z: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        return z.mul_(factors * weights)

    return step_along_edges(X, W, pull, at=at, out=out, spread=spread)


@coupling("clipped", options=CLIP, fast=fast_clipped)
def clipped(z: torch.Tensor, weights: torch.Tensor, gamma: float, run: Run) -> torch.Tensor:
    """ClippedGossip (He, Karimireddy and Jaggi 2022): γ W_ij z, for the whole difference z of two
    models, shortened to the length τ = ``clip`` at most.

    In the paper, τ adapts to each worker.
    """
    length = z.norm(dim=1, keepdim=True)
    return z * (run.clip / length.clamp_min(run.clip) * weights * gamma)
