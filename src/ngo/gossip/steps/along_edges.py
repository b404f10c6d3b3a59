"""A step with any coupling, in torch's operations, each undirected edge computed once."""

from __future__ import annotations

from collections.abc import Callable

from ngo.common.lazy import torch
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.steps import column_blocks
from ngo.native.pool import Map


def step_along_edges(
    X: torch.Tensor,
    W: MixingMatrix,
    pull: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    *,
    at: torch.Tensor,
    out: torch.Tensor,
    spread: Map,
) -> torch.Tensor:
    """``X`` plus all pulls: each edge's pull is added at one end and subtracted at the other.

    ``pull(z, weights)`` returns the pulls ``[edges, k]`` for differences z ``[edges, k]``, which it
    may overwrite, and weights ``[edges, 1]``. ``W`` is symmetric.
    """
    there = W.on(at.device, at.dtype)
    (i, j, weights), (starts, _), ends = there.pairs, there.places, there.ends
    weights = weights[:, None]

    def step(part: slice) -> None:
        x = at[:, part]
        pulls = pull(x[j] - x[i], weights)
        both = torch.cat([pulls, -pulls])[ends]
        new = torch.segment_reduce(both, "sum", offsets=starts, axis=0, unsafe=True)
        out[:, part] = new.add_(X[:, part])

    column_blocks.in_blocks(X, W.edges, step, spread)
    return out
