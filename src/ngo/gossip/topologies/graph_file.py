"""A graph from a file, in one of networkx's formats or as a matrix.

Nodes are workers in the order of their names (``ngo.gossip.numbered``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from ngo.common.fields import file
from ngo.common.lazy import nx, torch
from ngo.common.paths import check_readable
from ngo.common.registry import UserError, shown
from ngo.gossip.graph_formats import read_graph
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.numbered import numbered
from ngo.gossip.topology import topology
from ngo.gossip.weights import metropolis_hastings, outgoing_shares

GRAPH = {"graph": file("file of the graph: .edgelist, .adjlist, .graphml, .gml, .json or .mtx")}

#: The largest file, in bytes.
LARGEST = 1 << 26

#: How far the weights of a worker's edges may sum to more than 1, by rounding.
TOLERANCE = 1e-9

#: Whether the graph is directed, by topology.
DIRECTED = {"graph_file": False, "directed_graph_file": True}


@topology("graph_file", weighted=True, options=GRAPH, check=lambda n, graph: read(n, graph, False))
def graph_file(n: int, graph: str) -> MixingMatrix:
    """An undirected graph from a file.

    Weights of edges, if the file has them, are W_ij. Without weights, or if all are 1, they are
    Metropolis–Hastings weights.
    """
    return _matrix(n, read(n, graph, False), metropolis_hastings)


@topology(
    "directed_graph_file",
    directed=True,
    weighted=True,
    options=GRAPH,
    check=lambda n, graph: read(n, graph, True),
)
def directed_graph_file(n: int, graph: str) -> MixingMatrix:
    """A directed graph from a file.

    An edge's weight, if the file has weights, is the share that is sent along it. Without weights,
    or if all are 1, a worker divides its mass equally among itself and its receivers.
    """
    return _matrix(n, read(n, graph, True), outgoing_shares)


def file_nodes(topologies: Iterable[str], n: int, graph: str | None) -> dict[str, Any]:
    """The ``names`` and ``notes`` of the file ``graph`` (see ``read``), if one of the
    ``topologies`` is of a file; else empty.
    """
    found = [name for name in topologies if name in DIRECTED]
    return read(n, graph, DIRECTED[found[0]]).graph if found and graph is not None else {}


def _matrix(n: int, graph: nx.Graph, weights: Callable[..., MixingMatrix]) -> MixingMatrix:
    """The file's weights, with the rest to 1 on the diagonal; else ``weights`` of the edges."""
    if not _has_weights(graph):
        return weights(n, graph.edges)
    # An undirected graph's adjacency has each edge in both directions.
    directed = [(i, j, w) for i, near in graph.adjacency() for j, w in near.items()]
    senders, receivers = torch.tensor([edge[:2] for edge in directed]).T
    shares = torch.tensor([w["weight"] for _, _, w in directed], dtype=torch.float64)
    kept = (1 - torch.bincount(senders, shares, n)).clamp(min=0)
    return MixingMatrix(n, receivers, senders, shares, kept)


def read(n: int, path: str, directed: bool) -> nx.Graph:
    """The graph in the file, without self-loops; its nodes are the workers 0 … n − 1.

    ``graph["names"]`` and ``graph["notes"]`` of it are those of ``numbered``. A one-line UserError
    unless the file can be read, and its graph has n nodes, is connected (strongly, if
    ``directed``), and has weights above 0 on all edges or on none.
    """
    status = check_readable(path, "graph", LARGEST).stat()
    graph = _load(path, n, directed, (status.st_mtime_ns, status.st_size))
    if len(graph) != n:
        raise UserError(f"workers: {n} is not the number of nodes in graph {path!r}, {len(graph)}.")
    _check_connected(graph, path)
    if _has_weights(graph):
        _check_weights(graph, path)
    return graph


@lru_cache(maxsize=8)
def _load(path: str, n: int, directed: bool, stamp: tuple[int, int]) -> nx.Graph:
    """The file's graph; ``stamp`` changes with the file."""
    graph = read_graph(path, n, directed)
    if graph.is_directed() != directed:
        found, needed = ("", "directed_graph_file") if graph.is_directed() else ("un", "graph_file")
        raise UserError(f"graph: {path!r} is {found}directed; it needs topology {needed!r}.")
    graph = numbered(graph, f"graph: {path!r}")
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


def _has_weights(graph: nx.Graph) -> bool:
    return any(w is not None for _, _, w in graph.edges.data("weight"))


def _check_connected(graph: nx.Graph, path: str) -> None:

    if not graph.is_directed() and not nx.is_connected(graph):
        raise UserError(f"graph: {path!r} is not connected.")
    if graph.is_directed() and not nx.is_strongly_connected(graph):
        raise UserError(f"graph: {path!r} has no directed path between some of its nodes.")


def _check_weights(graph: nx.Graph, path: str) -> None:
    for i, j, w in graph.edges.data("weight"):
        if isinstance(w, bool) or not isinstance(w, int | float) or not 0 < w < math.inf:
            ends = ", ".join(shown(graph.graph["names"][k]) for k in (i, j))
            raise UserError(
                f"graph: the edge ({ends}) in {path!r} has the weight {shown(w)}; it must be a "
                "number above 0. If any edge has a weight, every edge must."
            )
    sent = graph.out_degree if graph.is_directed() else graph.degree
    for i, total in sent(weight="weight"):
        if total > 1 + TOLERANCE:
            node = shown(graph.graph["names"][i])
            raise UserError(
                f"graph: the weights at node {node} in {path!r} sum to {total:g}; at most 1."
            )
