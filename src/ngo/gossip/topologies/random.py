"""Erdős–Rényi graphs, drawn independently at every step."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from ngo.gossip.topology import Edges, topology

if TYPE_CHECKING:
    import torch


@topology("random")
def random_graph(n: int, u: float, generator: torch.Generator) -> Edges:
    """A new Erdős–Rényi graph G(n, ``u``) in each step.

    Each of the n(n−1)/2 edges exists with probability ``u``, independently. Source: the paper's Eq.
    (aijp). A worker may have no edge.
    """
    import torch

    if not 0 < u <= 1:
        raise ValueError(f"u is {u!r}; the probability of an edge must be in (0, 1]")
    pairs = list(combinations(range(n), 2))
    drawn = torch.rand(len(pairs), generator=generator, dtype=torch.float64) < u
    return [pair for pair, exists in zip(pairs, drawn.tolist(), strict=True) if exists]
