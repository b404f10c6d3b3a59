"""Clipped gossip: a worker that is far from its neighbours moves them only a little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.common.fields import above, number
from ngo.gossip.coupling import coupling
from ngo.native.pool import Map

if TYPE_CHECKING:
    import torch

    from ngo.gossip.step import Run

CLIP = {"clip": number("largest length of a difference that counts in full, τ", 1.0, above(0))}


def fast_clipped(
    X: torch.Tensor,
    W: torch.Tensor,
    gamma: float,
    run: Run,
    *,
    at: torch.Tensor,
    out: torch.Tensor,
    spread: Map,
) -> torch.Tensor:
    """Linear gossip with the weights W_ij min(1, τ/‖x_j − x_i‖); the lengths need whole rows."""
    import torch

    from ngo.gossip.steps.linear import linear_step

    lengths = torch.cdist(at, at, compute_mode="donot_use_mm_for_euclid_dist")
    weights = W * (run.clip / lengths.clamp_min(run.clip)).to(W)
    return linear_step(X, weights, gamma, at=at, out=out, spread=spread)


@coupling("clipped", options=CLIP, fast=fast_clipped)
def clipped(z: torch.Tensor, weights: torch.Tensor, gamma: float, run: Run) -> torch.Tensor:
    """ClippedGossip (He, Karimireddy and Jaggi 2022): γ W_ij z, for the whole difference z of two
    models, shortened to the length τ = ``clip`` at most.

    In the paper, τ adapts to each worker.
    """
    length = z.norm(dim=1, keepdim=True)
    return z * (run.clip / length.clamp_min(run.clip) * weights * gamma)
