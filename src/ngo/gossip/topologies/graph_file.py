"""A graph from a file, in one of networkx's formats or as a matrix; a graph's nodes as workers.

Nodes are workers in the order of their names: by number if all are different whole numbers, else
sorted. With the names 0 … n − 1, a node's name is its worker's number. A name that equals a whole
number is one: networkx takes 1, ``np.int64(1)``, 1.0 and True for the same node. So is text such as
'10', which is all that some files have.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import pairwise
from numbers import Real
from pathlib import Path
from typing import Any

from ngo.common.fields import file
from ngo.common.files import check_readable
from ngo.common.lazy import nx, torch
from ngo.common.registry import UserError, in_a_line, shown
from ngo.gossip.mixing_matrix import MixingMatrix, metropolis_hastings, outgoing_shares
from ngo.gossip.topology import topology

#: How many nodes a note names.
NAMED = 8


def numbered(given: nx.Graph, what: str) -> nx.Graph:
    """The graph on the workers 0 … n − 1, with each edge once.

    Edges keep their weights, but weights that are all 1 are none: networkx gives them to the edges
    of an adjacency matrix. Self-loops stay. ``graph["nodes"]`` of the result has the nodes in
    the order of the workers, ``graph["names"]`` their names, and ``graph["notes"]`` the lines that
    tell a user what is not as in ``given``. Lines name the graph by ``what``, which begins with a
    key. A one-line UserError for nodes that are no names, for two nodes of one name, and for a
    repeated edge of several weights.
    """
    nodes = _in_order(given, what)
    number = {node: k for k, node in enumerate(nodes)}
    graph = nx.DiGraph() if given.is_directed() else nx.Graph()
    graph.add_nodes_from(number[node] for node in given)
    repeated = 0
    for i, j, w in given.edges.data("weight"):
        edge = number[i], number[j]
        if not graph.has_edge(*edge):
            graph.add_edge(*edge, weight=w)
            continue
        repeated += 1
        if (first := graph.edges[edge]["weight"]) != w:
            raise UserError(
                f"{what} has the edge ({shown(i)}, {shown(j)}) with the weights {shown(first)} and "
                f"{shown(w)}; give it once."
            )
    if all(_is_number(w) and w == 1 for i, j, w in graph.edges.data("weight") if i != j):
        nx.set_edge_attributes(graph, None, "weight")
    names = [_name(node) for node in nodes]
    notes = list(_notes(names, repeated, what))
    graph.graph = {"nodes": nodes, "names": names, "notes": notes}
    return graph


def _notes(names: list[str], repeated: int, what: str) -> Iterable[str]:
    if repeated:
        yield f"note: {what} has edges more than once ({repeated} repeat others); each counts once"
    if names != [str(k) for k in range(len(names))]:
        first = ", ".join(f"{k} is {shown(name)}" for k, name in enumerate(names[:NAMED]))
        rest = f", … ({len(names)} in all, see graph_nodes)" if len(names) > NAMED else ""
        yield f"note: {what} has nodes with names: worker {first}{rest}"


def _in_order(given: nx.Graph, what: str) -> list[object]:
    """The nodes in the order of the workers (see the module)."""
    for node in given:
        if not _is_name(node):
            raise UserError(
                f"{what} has the node {shown(node)}; nodes must be numbers below 2^63, text, or "
                f"tuples of these (networkx.convert_node_labels_to_integers numbers them)."
            )
    if len(set(map(_name, given))) < len(given):
        names = sorted(map(_name, given))
        twice = next(a for a, b in pairwise(names) if a == b)
        raise UserError(f"{what} has two nodes of the name {shown(twice)}; rename one.")
    whole = {node: number for node in given if (number := _whole_number(node)) is not None}
    if len(set(whole.values())) == len(given):
        return sorted(given, key=whole.__getitem__)
    try:
        return sorted(given)
    except TypeError:  # names of several kinds
        return sorted(given, key=_name)


def _is_name(node: Any) -> bool:
    """Whether the order of such nodes, and their text, are the same in every process."""
    if isinstance(node, tuple):
        return all(map(_is_name, node))
    return isinstance(node, str) or (_is_number(node) and abs(node) < 2**63)


def _is_number(node: object) -> bool:
    return isinstance(node, Real)


def _name(node: object) -> str:
    whole = None if isinstance(node, str) else _whole_number(node)
    return str(node if whole is None else whole)


def _whole_number(node: Any) -> int | None:
    if isinstance(node, str):
        return int(node) if re.fullmatch("-?[0-9]{1,18}", node) else None
    return int(node) if _is_number(node) and node == int(node) else None


def read_graph(path: str, directed: bool) -> nx.Graph:
    """The graph in the file, with its names of nodes and its parallel edges.

    A format that does not say whether its edges have a direction has ``directed`` ones or not.
    A one-line UserError for a file that can't be
    read.
    """
    formats: dict[str, Callable[[], nx.Graph]] = {
        ".edgelist": lambda: _edge_list(_text(path), directed),
        ".graphml": lambda: nx.read_graphml(path),
        ".gml": lambda: _gml(_text(path)),
    }
    ending = Path(path).suffix.lower()
    if ending not in formats:
        raise UserError(f"graph: {path!r} has no known ending; it must be {', '.join(formats)}.")
    try:
        return formats[ending]()
    except UserError:
        raise
    except Exception as error:
        raise UserError(
            f"graph: {path!r} can't be read as {ending}: {type(error).__name__}: "
            f"{in_a_line(error)[:200]}."
        ) from error


def _text(path: str) -> str:
    """The text of the file, without the mark at the start of some."""
    return Path(path).read_text(encoding="utf-8-sig")


def _gml(text: str) -> nx.Graph:
    """A node's name is its label if all nodes have different labels, else its id.

    Many files have parallel edges, and do not say that they may.
    """
    text = re.sub(r'^([^#"\n]*?\bgraph\s*\[)', r"\1 multigraph 1 ", text, count=1, flags=re.M)
    graph = nx.parse_gml(text, label="id")
    labels = dict(graph.nodes(data="label"))
    distinct = None not in labels.values() and len(set(labels.values())) == len(labels)
    return nx.relabel_nodes(graph, labels) if distinct else graph


def _edge_list(text: str, directed: bool) -> nx.Graph:
    """Each line has two nodes, and perhaps a weight or a dictionary.

    Comments begin with #, or a line with %.
    """
    kind = nx.MultiDiGraph if directed else nx.MultiGraph
    lines = (line.partition("#")[0].split() for line in text.split("\n"))
    words = [line for line in lines if line and not line[0].startswith("%")]
    if alone := next((line[0] for line in words if len(line) < 2), None):
        raise ValueError(f"a line has one node, {alone!r}; an edge has two")
    edges = [" ".join(line) for line in words]
    try:
        return nx.parse_edgelist(edges, create_using=kind)
    except TypeError:
        return nx.parse_edgelist(edges, create_using=kind, data=[("weight", float)])


GRAPH = {"graph": file("file of the graph: .edgelist, .graphml or .gml")}

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
    named = [name for name in topologies if name in DIRECTED]
    return read(n, graph, DIRECTED[named[0]]).graph if named and graph is not None else {}


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
    graph = read_graph(path, directed)
    if graph.is_directed() != directed:
        directed = graph.is_directed()
        prefix, needed = ("", "directed_graph_file") if directed else ("un", "graph_file")
        raise UserError(f"graph: {path!r} is {prefix}directed; it needs topology {needed!r}.")
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
