"""The graphs on which theorems are measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace

import networkx as nx
import torch

from ngo.common.registry import UserError
from ngo.common.seeding import torch_stream
from ngo.gossip.topology import TOPOLOGIES, Mixing

# Draws of a random graph before the search for a connected one is given up.
MAX_DRAWS = 10_000


def connected_graphs(
    topologies: Iterable[str], workers: Iterable[int], u: float, seed: int
) -> Iterator[tuple[str, int, torch.Tensor]]:
    """Each (topology, n, mixing matrix); a graph that equals an earlier one is left out.

    A random graph is the first connected draw from the stream (seed, "theory graphs", n).
    """
    seen = []
    names = list(topologies)
    for n in workers:
        for name in names:
            W = _connected_matrix(name, n, u, seed)
            if not any(torch.equal(W, other) for other in seen):
                seen.append(W)
                yield name, n, W


def _connected_matrix(name: str, n: int, u: float, seed: int) -> torch.Tensor:
    generator = torch_stream(seed, "theory graphs", n)
    mixing = Mixing(name, n, SimpleNamespace(u=u), generator)
    if not TOPOLOGIES[name].varies:
        return mixing.at(0)
    for t in range(MAX_DRAWS):
        W = mixing.at(t)
        if nx.is_connected(nx.from_numpy_array(W.numpy())):
            return W
    raise UserError(
        f"u: {u!r} gave no connected {name} graph of {n} workers in {MAX_DRAWS} draws; it must be "
        f"larger."
    )
