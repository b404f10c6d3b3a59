"""A graph from a file, in one of networkx's formats.

Nodes are workers in the order of their names: as numbers if all are different whole numbers, else
as text. With the names 0 … n − 1, a node's name is its worker's number.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.common.fields import file
from ngo.common.paths import check_readable
from ngo.common.registry import UserError, in_a_line, shown
from ngo.gossip.topology import topology

if TYPE_CHECKING:
    import networkx as nx

    from ngo.gossip.mixing_matrix import MixingMatrix

GRAPH = {"graph": file("file of the graph: .edgelist, .adjlist, .graphml, .gml or .json")}

#: How far the weights of a worker's edges may sum to more than 1, by rounding.
TOLERANCE = 1e-9

#: Whether the graph is directed, by topology.
DIRECTED = {"graph_file": False, "directed_graph_file": True}


@topology("graph_file", weighted=True, options=GRAPH, check=lambda n, graph: read(n, graph, False))
def graph_file(n: int, graph: str) -> MixingMatrix:
    """An undirected graph from a file.

    Weights of edges, if the file has them, are W_ij. Without weights, they are Metropolis–Hastings
    weights.
    """
    from ngo.gossip.weights import metropolis_hastings

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
    a worker divides its mass equally among itself and its receivers.
    """
    from ngo.gossip.weights import outgoing_shares

    return _matrix(n, read(n, graph, True), outgoing_shares)


def node_names(topology: str | None, n: int, graph: str | None) -> list[str] | None:
    """The names of the nodes in the file ``graph``, in the order of the workers.

    None for a ``topology`` that is not of a file.
    """
    if topology not in DIRECTED or graph is None:
        return None
    return read(n, graph, DIRECTED[topology]).graph["names"]


def _matrix(n: int, graph: nx.Graph, weights: Callable[..., MixingMatrix]) -> MixingMatrix:
    """The file's weights, with the rest to 1 on the diagonal; else ``weights`` of the edges."""
    import torch

    from ngo.gossip.mixing_matrix import MixingMatrix

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

    ``graph.graph["names"]`` has the workers' names in the file. A one-line UserError unless the
    file can be read, and its graph has n nodes, is connected (strongly, if ``directed``), and has
    weights above 0 on all edges or on none.
    """
    status = check_readable(path, "graph").stat()
    graph = _load(path, directed, (status.st_mtime_ns, status.st_size))
    if len(graph) != n:
        raise UserError(f"workers: {n} is not the number of nodes in graph {path!r}, {len(graph)}.")
    _check_connected(graph, path)
    if _has_weights(graph):
        _check_weights(graph, path)
    return graph


@lru_cache(maxsize=8)
def _load(path: str, directed: bool, stamp: tuple[int, int]) -> nx.Graph:
    """The file's graph; ``stamp`` changes with the file."""
    import networkx as nx

    kind = nx.DiGraph if directed else nx.Graph
    formats: dict[str, Callable[[str], nx.Graph]] = {
        ".edgelist": lambda path: _edge_list(path, kind),
        ".adjlist": lambda path: nx.read_adjlist(path, create_using=kind),
        ".graphml": nx.read_graphml,
        ".gml": _gml,
        ".json": _node_link,
    }
    ending = Path(path).suffix
    if ending not in formats:
        raise UserError(f"graph: {path!r} has no known ending; it must be {', '.join(formats)}.")
    try:
        graph = formats[ending](path)
    except Exception as error:
        raise UserError(
            f"graph: {path!r} can't be read as {ending}: {type(error).__name__}: "
            f"{in_a_line(error)}."
        ) from error
    if graph.is_multigraph():
        raise UserError(f"graph: {path!r} has parallel edges; an edge may occur only once.")
    if graph.is_directed() != directed:
        found, needed = ("", "directed_graph_file") if graph.is_directed() else ("un", "graph_file")
        raise UserError(f"graph: {path!r} is {found}directed; it needs topology {needed!r}.")
    names = _in_order(graph)
    graph = nx.relabel_nodes(graph, {name: k for k, name in enumerate(names)})
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    graph.graph["names"] = [str(name) for name in names]
    return graph


def _in_order(names: Iterable[object]) -> list[object]:
    """The names of nodes in the order of the workers (see the module)."""
    numbers = {name: _whole_number(name) for name in names}
    whole = {name: number for name, number in numbers.items() if number is not None}
    if len(set(whole.values())) == len(numbers):
        return sorted(whole, key=whole.__getitem__)
    return sorted(numbers, key=lambda name: (str(name), repr(name)))


def _whole_number(name: object) -> int | None:
    if isinstance(name, str):
        return int(name) if re.fullmatch("[0-9]{1,18}", name) else None
    return name if isinstance(name, int) and not isinstance(name, bool) else None


def _gml(path: str) -> nx.Graph:
    """A node's name is its label if all nodes have different labels, else its id."""
    import networkx as nx

    graph = nx.read_gml(path, label="id")
    labels = dict(graph.nodes(data="label"))
    distinct = None not in labels.values() and len(set(labels.values())) == len(labels)
    return nx.relabel_nodes(graph, labels) if distinct else graph


def _edge_list(path: str, kind: type) -> nx.Graph:
    """Each line has two nodes, and perhaps a weight or a dictionary."""
    import networkx as nx

    try:
        return nx.read_edgelist(path, create_using=kind)
    except TypeError:
        return nx.read_weighted_edgelist(path, create_using=kind)


def _node_link(path: str) -> nx.Graph:
    import networkx as nx

    data = json.loads(Path(path).read_text(encoding="utf-8"))
    return nx.node_link_graph(data, edges="links" if "links" in data else "edges")


def _has_weights(graph: nx.Graph) -> bool:
    return any(w is not None for _, _, w in graph.edges.data("weight"))


def _check_connected(graph: nx.Graph, path: str) -> None:
    import networkx as nx

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
