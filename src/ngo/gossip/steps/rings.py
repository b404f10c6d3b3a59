"""A step with any coupling, in torch's operations, each undirected edge computed once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import torch

from ngo.common.transfers import sent
from ngo.gossip.steps import column_blocks
from ngo.native.pool import Map


def step_by_rings(
    X: torch.Tensor,
    W: torch.Tensor,
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
    rings = [
        (runs, sent(weights, X.device).to(X.dtype)[:, None])
        for runs, weights in edge_rings(W.tolist())
    ]

    def step(part: slice) -> None:
        x, y = at[:, part], X[:, part].clone()
        buffer = torch.empty_like(y)
        for runs, weights in rings:
            z = buffer[: len(weights)]
            for run in runs:
                torch.sub(x[run.j], x[run.i], out=z[run.at])
            pulls = pull(z, weights)
            for run in runs:
                y[run.i].add_(pulls[run.at])
                y[run.j].sub_(pulls[run.at])
        out[:, part] = y

    column_blocks.in_blocks(X, column_blocks.BLOCK, step, spread)
    return out


class Run(NamedTuple):
    """Edges from consecutive workers ``i`` to consecutive workers ``j``, one to one.

    ``at`` is their range among the edges of their ring. Slices of rows need no copies.
    """

    i: slice
    j: slice
    at: slice


def edge_rings(W: list[list[float]]) -> list[tuple[list[Run], torch.Tensor]]:
    """The edges of a graph, grouped by the distance k of their ends around the circle of workers.

    The edges (i, i + k mod n) of one distance form one ring or several: no two of them begin, or
    end, at the same worker, so that their pulls can be added at once. A ring graph is one ring, a
    complete graph has ⌊n/2⌋. For each distance: its runs, and the weights ``[edges]``.
    """
    n = len(W)
    found = []
    for k in range(1, n // 2 + 1):
        starts = range(n if 2 * k < n else k)  # at distance n/2, both ends see the same edge
        edges = [i for i in starts if W[i][(i + k) % n] != 0]
        # A run begins where an end does not follow the same end of the edge before.
        begins = [
            at
            for at, i in enumerate(edges)
            if at == 0 or i != edges[at - 1] + 1 or (i + k) % n == 0
        ]
        runs = []
        for at, end in pairwise([*begins, len(edges)]):
            i, j, length = edges[at], (edges[at] + k) % n, end - at
            runs.append(Run(slice(i, i + length), slice(j, j + length), slice(at, end)))
        if edges:
            weights = torch.tensor([W[i][(i + k) % n] for i in edges], dtype=torch.float64)
            found.append((runs, weights))
    return found
