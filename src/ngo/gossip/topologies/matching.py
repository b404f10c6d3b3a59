"""Matchings: in each step, every worker has at most one neighbour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.topology import Edges, topology

if TYPE_CHECKING:
    import torch


@topology("random_matching", matching=True)
def random_matching(n: int, generator: torch.Generator) -> torch.Tensor:
    """A new random matching in each step; for odd n, one worker has no neighbour."""
    import torch

    return torch.randperm(n, generator=generator)[: n - n % 2].view(-1, 2)


@topology(
    "alternating_matching",
    period=lambda n: 3 if n % 2 else 2,
    exact=lambda n: n in (2, 4),
    matching=True,
)
def alternating_matching(n: int, t: int) -> Edges:
    """The ring's edges as matchings, in turn: (0, 1), (2, 3), …, then (1, 2), (3, 4), ….

    For odd n, a third step has the edge (n − 1, 0) alone.
    """
    if n % 2 and t % 3 == 2:
        return [(n - 1, 0)]
    first = t % (3 if n % 2 else 2)
    return [(i, (i + 1) % n) for i in range(first, n - n % 2, 2)]
