"""What measurements on the theorems share: graphs, states, and what rounds leave of V."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import count, islice
from types import SimpleNamespace

import networkx as nx
import torch

from ngo.common.lazy import Tensor
from ngo.common.registries import TOPOLOGIES
from ngo.common.seeding import torch_stream
from ngo.gossip.consensus_dynamics import simulate
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.schedule import Mixing
from ngo.theorems.table import TheoryOptions
from verdicts.registry import UserError

Rows = Iterator[tuple]

# Draws of a random graph before the search for a connected one is given up.
MAX_DRAWS = 10_000


def graphs(s: TheoryOptions, workers: Iterable[int]) -> Iterator[tuple[str, int, Tensor]]:
    """Each (topology, n, mixing matrix) of ``topologies`` and numbers of ``workers``.

    A graph that equals an earlier one is left out.
    """
    seen = []
    for n in workers:
        for name in s.topologies:
            W = graph(name, n, s.u, s.seed)
            if not any(torch.equal(W, other) for other in seen):
                seen.append(W)
                yield name, n, W


def sgd_graph(s: TheoryOptions, n: int | None = None) -> Tensor:
    """The mixing matrix of ``sgd_topology`` on n workers, by default ``sgd_workers``."""
    return graph(s.sgd_topology, n or s.sgd_workers, s.u, s.seed)


def graph(name: str, n: int, u: float, seed: int) -> Tensor:
    """The mixing matrix of a topology.

    A random graph is the first connected draw from the stream (seed, "theory graphs", n).
    """
    for drawn in islice(draws(name, n, u, seed, "theory graphs"), MAX_DRAWS):
        W = drawn.dense()
        if not TOPOLOGIES[name].varies or nx.is_connected(nx.from_numpy_array(W.numpy())):
            return W
    raise UserError(f"u: no {name} graph of {n} workers is connected at {u!r}; it must be larger.")


def draws(name: str, n: int, u: float, seed: int, stream: str) -> Iterator[MixingMatrix]:
    """The matrices of a topology, exchange by exchange, drawn from the stream (seed, stream, n)."""
    mixing = Mixing(name, n, SimpleNamespace(u=u), torch_stream(seed, stream, n))
    return map(mixing.at, count())


def states(n: int, draws: int, seed: int, stream: str, worker: int | None) -> list[Tensor]:
    """Gaussian states ``[n, 1]`` from the stream (seed, stream, worker)."""
    generator = torch_stream(seed, stream, worker)
    return [torch.randn(n, 1, generator=generator, dtype=torch.float64) for _ in range(draws)]


def unit_spread(n: int, generator: torch.Generator) -> Tensor:
    """A Gaussian state ``[n, 1]`` with mean 0 and V = n.

    The floor of a sublinear coupling does not depend on V(0), so that its share of V(0) would be
    large if workers happened to start close together.
    """
    X = torch.randn(n, 1, generator=generator, dtype=torch.float64)
    X = X - X.mean()
    return X * (math.sqrt(n) / X.norm())


def residual(
    X0: Tensor, W: Tensor | Iterable[Tensor], p: float, gamma: float, rounds: int, delay: int = 0
) -> float:
    """The largest V of the last tenth of ``rounds``, as a share of V(0); infinity if it overflows.

    The arguments are those of ``simulate``.
    """
    V = simulate(X0, W, p, gamma, rounds, delay).V
    share = float(V[-max(1, rounds // 10) :].max() / V[0])
    return math.inf if math.isnan(share) else share
