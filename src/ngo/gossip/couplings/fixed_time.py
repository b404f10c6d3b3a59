"""Two exponents: fixed-time consensus (Zuo and Tie 2016)."""

from __future__ import annotations

from ngo.common.fields import above, number, within
from ngo.common.lazy import torch
from ngo.gossip.coupling import coupling
from ngo.gossip.phi import power_
from ngo.gossip.step import Run

OPTIONS = {
    "near_factor": number("factor a of the smaller exponent", 1.0, above(0)),
    "near_exponent": number(
        "smaller exponent α, which decides near the consensus", 0.8, within(0, 1)
    ),
    "far_factor": number("factor b of the larger exponent", 1.0, above(0)),
    "far_exponent": number("larger exponent β, which decides far from it", 1.2, above(0)),
}


@coupling("fixed_time", options=OPTIONS)
def fixed_time(z: torch.Tensor, weights: torch.Tensor, gamma: float, run: Run) -> torch.Tensor:
    """Fixed-time consensus (Zuo and Tie 2016): γ W_ij sign(z)(a|z|^α + b|z|^β).

    The fields are, in this order, a, α, b and β. In continuous time with α < 1 < β, the time to
    consensus has a bound that holds for all initial states.
    """
    near = power_(z.clone(), run.near_exponent).mul_(run.near_factor)
    far = power_(z.clone(), run.far_exponent).mul_(run.far_factor)
    return near.add_(far).mul_(z.sign()).mul_(weights).mul_(gamma)
