"""The rest of V after rounds of consensus, and the limits by which it is judged."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ngo.common.types import Tensor

VANISHED = 1e-6
"""V counts as vanished at or below this share of V(0)."""

FACTOR = 2.0
"""Two values of V are alike if they are within this factor."""


def residual(
    X0: Tensor,
    W: Tensor | Iterable[Tensor],
    p: float,
    gamma: float,
    rounds: int,
    delay: int = 0,
) -> float:
    """The largest V of the last tenth of ``rounds``, as a share of V(0); infinity if it overflows.

    The arguments are those of ``consensus.simulate``.
    """
    from ngo.gossip.consensus import simulate

    V = simulate(X0, W, p, gamma, rounds, delay).V
    share = float(V[-max(1, rounds // 10) :].max() / V[0])
    return math.inf if math.isnan(share) else share
