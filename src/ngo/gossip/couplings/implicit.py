"""The paper's coupling with an implicit step, for matchings: a worker can't pass its neighbour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.coupling import coupling

if TYPE_CHECKING:
    import torch

    from ngo.gossip.step import Run

#: Newton's steps. After the last, only the rounding error of float64 remains.
ITERATIONS = 10


@coupling("implicit", fields=("p",), matching=True)
def implicit(z: torch.Tensor, weights: torch.Tensor, gamma: float, run: Run) -> torch.Tensor:
    """The paper's pull at the difference z⁺ after the step, for matchings: γ W_ij φ_p(z⁺).

    z⁺ + 2γ W_ij φ_p(z⁺) = z. A backward Euler step of two workers. p = 1/2 is soft thresholding: a
    difference of 2γ W_ij or less becomes 0.
    """
    v = solved(z.abs(), 2 * gamma * weights, 2 * run.p - 1)
    return v.mul_(z.sign()).mul_(gamma * weights)


def solved(a: torch.Tensor, c: torch.Tensor, q: float) -> torch.Tensor:
    """Elementwise v = u^q for the u ≥ 0 with u + c u^q = a, for a ≥ 0, c > 0 and 0 ≤ q ≤ 1.

    v^(1/q) + c v is convex in v, so that Newton's method falls to the root from above.
    """
    import torch

    v = torch.minimum(a**q, a / c)
    if q == 0:
        return v
    for _ in range(ITERATIONS):
        power = v ** (1 / q - 1)
        v = v - (power * v + c * v - a) / (power / q + c)
    return v.clamp_(min=0)
