"""The paper's coupling with an implicit step, for matchings: it can't go past the neighbour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.coupling import coupling

if TYPE_CHECKING:
    import torch

    from ngo.gossip.step import Run

#: Newton's steps; the error of the last is far below rounding in float64.
ITERATIONS = 12


@coupling("implicit", fields=("p",))
def implicit(z: torch.Tensor, weights: torch.Tensor, gamma: float, run: Run) -> torch.Tensor:
    """(z − z⁺)/2 for the difference z⁺ after the step: z⁺ + 2γ W_ij φ_p(z⁺) = z.

    A backward Euler step of two workers. p = 1/2 is soft thresholding: a difference of 2γ W_ij or
    less becomes 0. Each worker may have one neighbour at most.
    """
    after = solved(z.abs(), 2 * gamma * weights, 2 * run.p - 1)
    return (z.abs() - after).mul_(z.sign()).div_(2)


def solved(a: torch.Tensor, c: torch.Tensor, q: float) -> torch.Tensor:
    """U ≥ 0 with u + c u^q = a, elementwise, for a ≥ 0, c ``[edges, 1]`` and q ≥ 0."""
    import torch

    if q == 0:
        return (a - c).clamp_(min=0)
    # u ↦ u + c u^q is concave for q < 1, where Newton's method rises to the root from any point
    # below it, and convex for q > 1, where it falls from any point above.
    single = (a / (2 * c if q < 1 else c)) ** (1 / q)
    u = torch.minimum(a / 2 if q < 1 else a, single)
    for _ in range(ITERATIONS):
        power = c * u**q
        u = torch.where(u > 0, u - (u + power - a) / (1 + q * power / u), u)
    return u.clamp_(min=0)
