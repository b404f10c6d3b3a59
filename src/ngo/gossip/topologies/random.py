"""Erdős–Rényi graphs, drawn independently at every step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ngo.gossip.topology import DRAWN_IN_FULL, topology

if TYPE_CHECKING:
    import torch


@topology("random", density=lambda n, u: u)
def random_graph(n: int, u: float, generator: torch.Generator) -> torch.Tensor:
    """A new Erdős–Rényi graph G(n, ``u``) in each step.

    Each of the n(n−1)/2 edges exists with probability ``u``, independently. Source: the paper's Eq.
    (aijp). A worker may have no edge. With more than 256 workers, the edges themselves are drawn
    instead of a number for each pair.
    """
    import torch

    if not 0 < u <= 1:
        raise ValueError(f"u is {u!r}; the probability of an edge must be in (0, 1]")
    pairs = n * (n - 1) // 2
    if n <= DRAWN_IN_FULL:
        drawn = torch.rand(pairs, generator=generator, dtype=torch.float64) < u
        found = drawn.nonzero().flatten()
    else:
        found = _successes(pairs, u, generator)
    # Pair number k is (i, j) in the order (0, 1), (0, 2), …; those of i begin at number firsts[i].
    rows = torch.arange(n)
    firsts = rows * (2 * n - rows - 1) // 2
    ends = torch.searchsorted(found, firsts)
    i = torch.repeat_interleave(rows, ends.diff(append=ends.new_tensor([len(found)])))
    return torch.stack([i, found - (firsts - rows - 1)[i]]).T


def _successes(trials: int, u: float, generator: torch.Generator) -> torch.Tensor:
    """The numbers of the trials that succeed, each with probability ``u`` (Batagelj and Brandes
    2005).

    The failures before each success are drawn from the geometric distribution, so that the time is
    in proportion to the successes.
    """
    import torch

    found = torch.full((1,), -1)
    while found[-1] < trials:
        left = (trials - int(found[-1])) * u
        draws = torch.rand(int(left + 4 * left**0.5) + 8, generator=generator, dtype=torch.float64)
        failures = (torch.log1p(-draws) / math.log1p(-u)).clamp(max=trials) if u < 1 else 0 * draws
        found = torch.cat([found, found[-1] + (failures.long() + 1).cumsum(0)])
    return found[1:][found[1:] < trials]
