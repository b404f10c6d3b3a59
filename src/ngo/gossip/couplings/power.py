"""The paper's coupling φ_p."""

from __future__ import annotations

from ngo.common.lazy import torch
from ngo.gossip.coupling import coupling
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.phi import phi
from ngo.gossip.step import Run
from ngo.native.pool import Map


def fast_power(
    X: torch.Tensor,
    W: MixingMatrix,
    gamma: float,
    run: Run,
    *,
    at: torch.Tensor,
    out: torch.Tensor,
    spread: Map,
) -> torch.Tensor:
    """The step by a matrix product, compiled code or Triton (``gossip_step.gossip_step``)."""
    return gossip_step(X, W, gamma, run.p, at=at, out=out, spread=spread)


def exact_power(
    X: torch.Tensor,
    W: MixingMatrix,
    gamma: float,
    run: Run,
    *,
    at: torch.Tensor,
    out: torch.Tensor,
    spread: Map,
) -> torch.Tensor:
    """The step by differences at p = 1 too."""
    return gossip_step(X, W, gamma, run.p, at=at, out=out, spread=spread, sums=False)


@coupling("power", fields=("p",), fast=fast_power, exact=exact_power)
def power(z: torch.Tensor, weights: torch.Tensor, gamma: float, run: Run) -> torch.Tensor:
    """The paper's pull: γ W_ij φ_p(z).

    φ_p(z) = sign(z)|z|^(2p−1): z at p = 1, sign(z) at 1/2 (Algorithm 1).
    """
    return gamma * weights * phi(z, run.p)
