"""The paper's coupling with a cap: a step never goes past the neighbour."""

from __future__ import annotations

from ngo.common.fields import above, number
from ngo.common.lazy import torch
from ngo.gossip.coupling import coupling
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.phi import exponent, phi
from ngo.gossip.step import Run
from ngo.native.gossip_step import CAPPED, Limit, gossip
from ngo.native.pool import Map
from ngo.native.shared_work import fits

CAP = {"cap": number("longest pull along an edge, in units of W_ij z", 1.0, above(0))}


def fast_capped(
    X: torch.Tensor,
    W: MixingMatrix,
    gamma: float,
    run: Run,
    *,
    at: torch.Tensor,
    out: torch.Tensor,
    spread: Map,
) -> torch.Tensor | None:
    """The step in compiled code."""
    if not fits(X, at, out):
        return None
    limit = Limit(CAPPED, run.cap)
    gossip(at, X, out, W.pairs, gamma, exponent(run.p), limit, spread=spread)
    return out


@coupling("capped", fields=("p",), options=CAP, fast=fast_capped)
def capped(z: torch.Tensor, weights: torch.Tensor, gamma: float, run: Run) -> torch.Tensor:
    """The paper's pull with an upper limit: W_ij z · min(cap, γ|z|^(2p−2)).

    Near the consensus, where |z|^(2p−2) is large, this is linear gossip with γ = cap instead of
    NGO's chatter. V never rises if the cap is 1 or less.
    """
    most = run.cap * z
    pull = gamma * phi(z, run.p)
    return torch.where(pull.abs() < most.abs(), pull, most).mul_(weights)
