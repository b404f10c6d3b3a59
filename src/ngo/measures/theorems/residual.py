"""What is left of V at the end of consensus in rounds."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch

from ngo.gossip import consensus


def residual(
    X0: torch.Tensor,
    W: torch.Tensor | Iterable[torch.Tensor],
    p: float,
    gamma: float,
    rounds: int,
    delay: int = 0,
) -> float:
    """The largest V of the last tenth of ``rounds``, as a share of V(0); infinity if it overflows.

    The arguments are those of ``consensus.simulate``.
    """
    V = consensus.simulate(X0, W, p, gamma, rounds, delay).V
    share = float(V[-max(1, rounds // 10) :].max() / V[0])
    return math.inf if math.isnan(share) else share


def unit_spread(n: int, generator: torch.Generator) -> torch.Tensor:
    """A Gaussian state ``[n, 1]`` with mean 0 and V = n.

    The floor of a sublinear coupling does not depend on V(0), so that its share of V(0) would be
    large if workers happened to start close together.
    """
    X = torch.randn(n, 1, generator=generator, dtype=torch.float64)
    X = X - X.mean()
    return X * (math.sqrt(n) / X.norm())
