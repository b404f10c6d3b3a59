"""Topologies, mixing matrices and their spectra.

A topology defines its edges and nothing more; the networkx graph, weights, degrees and gaps follow
from them. A new topology is one decorated function. (torch and networkx are imported where they
are used: the names of the topologies can be checked, and a run trained, without their start-up
cost.)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from itertools import combinations, repeat
from typing import TYPE_CHECKING

from ngo.registry import Registry, UserError

if TYPE_CHECKING:
    import networkx as nx
    import torch

Edges = list[tuple[int, int]]


@dataclass(frozen=True)
class Topology:
    """``edges(n)``, or ``edges(n, u, generator)`` for one that is drawn anew at every step.

    Each undirected edge is there once, as (i, j) with i < j, and no worker has one to itself.
    """

    edges: Callable[..., Edges]
    random: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a run that mean something for this topology."""
        return ("u",) if self.random else ()


TOPOLOGIES: Registry[Topology] = Registry("topology")


def topology(
    name: str, *, random: bool = False
) -> Callable[[Callable[..., Edges]], Callable[..., nx.Graph]]:
    """Register the edges of a topology under the name that configs and the command line use.

    An edge may be returned in either direction, or twice, and counts once; a self-loop is left out.
    The decorated function returns the networkx graph on the workers 0 … n − 1 with these edges.
    """

    def register(function: Callable[..., Edges]) -> Callable[..., nx.Graph]:
        def edges(n: int, *drawn: object, **named: object) -> Edges:
            return _simple(name, n, function(n, *drawn, **named))

        TOPOLOGIES.add(name, Topology(edges, random))

        @wraps(function)
        def graph(n: int, *drawn: object, **named: object) -> nx.Graph:
            import networkx as nx

            if n < 2:
                raise ValueError(f"a topology needs 2 workers or more, not {n}")
            built = nx.empty_graph(n)
            built.add_edges_from(edges(n, *drawn, **named))
            return built

        return graph

    return register


def _simple(name: str, n: int, edges: Iterable[tuple[int, int]]) -> Edges:
    """Each undirected edge once, without self-loops; a UserError for one to a worker that is not
    there.
    """
    simple = dict.fromkeys((min(i, j), max(i, j)) for i, j in edges)
    for i, j in simple:
        if i < 0 or j >= n:
            raise UserError(
                f"topology: {name!r} has an edge {i, j} on {n} workers; they are 0 to {n - 1}."
            )
    return [(i, j) for i, j in simple if i != j]


@topology("ring")
def ring(n: int) -> Edges:
    """Each worker has two neighbours (one, for n = 2)."""
    return [(i, i + 1) for i in range(n - 1)] + [(0, n - 1)] * (n > 2)


@topology("complete")
def complete(n: int) -> Edges:
    """Each worker is everyone's neighbour."""
    return list(combinations(range(n), 2))


@topology("random", random=True)
def random_graph(n: int, u: float, generator: torch.Generator) -> Edges:
    """G(n, u): each of the n(n−1)/2 edges is there with probability ``u``, independently.

    Source: the paper's Eq. (aijp). A worker may have no edge.
    """
    import torch

    if not 0 < u <= 1:
        raise ValueError(f"u is {u!r}; an edge's probability lies in (0, 1]")
    pairs = list(combinations(range(n), 2))
    drawn = torch.rand(len(pairs), generator=generator, dtype=torch.float64) < u
    return [pair for pair, there in zip(pairs, drawn.tolist(), strict=True) if there]


def mixing_matrix(graph: nx.Graph) -> torch.Tensor:
    """Metropolis–Hastings weights, float64 ``[n, n]``: symmetric, doubly stochastic, non-negative.

    W_ij = 1/(1 + max(deg i, deg j)) on edges, W_ii = 1 − Σ_{j≠i} W_ij; rows follow the order of
    ``graph.nodes``. A worker without an edge keeps its own state (W_ii = 1).
    """
    if graph.is_directed():
        raise ValueError("a directed graph has no symmetric mixing matrix; give an undirected one")
    row = {node: k for k, node in enumerate(graph)}
    return metropolis_hastings(len(row), [(row[i], row[j]) for i, j in graph.edges()])


def metropolis_hastings(n: int, edges: Edges) -> torch.Tensor:
    """:func:`mixing_matrix` from ``edges`` on n workers; a self-loop counts for none."""
    import torch

    adjacency = torch.zeros(n, n, dtype=torch.bool)
    if edges:
        i, j = torch.tensor(edges).T
        adjacency[i, j] = adjacency[j, i] = True
        adjacency.fill_diagonal_(False)
    degree = adjacency.sum(1, dtype=torch.float64)
    W = adjacency / (1 + torch.maximum(degree[:, None], degree[None, :]))
    return W + torch.diag(1 - W.sum(1))


def without(W: torch.Tensor, lost: Collection[int]) -> torch.Tensor:
    """Metropolis–Hastings weights anew on the graph of ``W`` after the workers ``lost`` are gone:
    they have no edge.
    """
    edges = W.triu(1).nonzero().tolist()
    return metropolis_hastings(
        len(W), [(i, j) for i, j in edges if i not in lost and j not in lost]
    )


def mixing_stream(
    name: str, n: int, u: float | None, generator: torch.Generator
) -> Iterator[torch.Tensor]:
    """The mixing matrix of every step: always the same, or that of a fresh draw for each step."""
    entry = TOPOLOGIES[name]
    if entry.random:
        return (metropolis_hastings(n, entry.edges(n, u, generator)) for _ in repeat(None))
    return repeat(metropolis_hastings(n, entry.edges(n)))


def spectral_gap(W: torch.Tensor) -> float:
    """1 − max(|λ₂|, |λ_n|) of a mixing matrix with eigenvalues 1 = λ₁ ≥ … ≥ λ_n (Table S1)."""
    import torch

    eigenvalues = torch.linalg.eigvalsh(W.double())
    return 1.0 if len(eigenvalues) == 1 else float(1 - eigenvalues[:-1].abs().max())


def laplacian(W: torch.Tensor) -> torch.Tensor:
    """L = D − W of a symmetric weight matrix ``[n, n]``, where D holds its row sums."""
    import torch

    return torch.diag(W.sum(1)) - W


def algebraic_connectivity(W: torch.Tensor) -> float:
    """λ₂ of the Laplacian of ``W``: its second smallest eigenvalue, 0 on a graph in pieces."""
    import torch

    return float(torch.linalg.eigvalsh(laplacian(W.double()))[1])
