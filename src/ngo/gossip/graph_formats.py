"""The formats of graph files: those of networkx, and matrices."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from ngo.common.lazy import nx
from ngo.common.registry import UserError, in_a_line
from ngo.common.untrusted import check_declared

_WHOLE = re.compile("[0-9]{1,18}")


def read_graph(path: str, n: int, directed: bool) -> nx.Graph:
    """The graph in the file, with its names of nodes and its parallel edges.

    A format that does not say whether its edges have a direction has ``directed`` ones or not.
    ``n`` is the number of nodes that is expected. A one-line UserError for a file that can't be
    read.
    """
    formats: dict[str, Callable[[], nx.Graph]] = {
        ".edgelist": lambda: _edge_list(_text(path), n, directed),
        ".adjlist": lambda: _adjacency_list(_text(path), directed),
        ".graphml": lambda: nx.read_graphml(path),
        ".gml": lambda: _gml(_text(path)),
        ".json": lambda: _node_link(_text(path)),
        ".mtx": lambda: _matrix_market(path, directed),
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


def _edge_list(text: str, n: int, directed: bool) -> nx.Graph:
    """Each line has two nodes, and perhaps a weight or a dictionary; the first may count them."""
    kind = nx.MultiDiGraph if directed else nx.MultiGraph
    lines = _lines(text)
    for k, line in enumerate(lines):
        if len(line) < 2 and (k or not _WHOLE.fullmatch(line[0])):
            raise ValueError(f"a line has one node, {line[0]!r}; an edge has two")
    edges = [" ".join(line) for line in _without_counts(lines, n)]
    try:
        return nx.parse_edgelist(edges, create_using=kind)
    except TypeError:
        return nx.parse_edgelist(edges, create_using=kind, data=[("weight", float)])


def _lines(text: str) -> list[list[str]]:
    """The words of each line that has any; comments begin with #, or a line with %."""
    found = (line.partition("#")[0].split() for line in text.split("\n"))
    return [line for line in found if line and not line[0].startswith("%")]


def _without_counts(lines: list[list[str]], n: int) -> list[list[str]]:
    """The lines of an edge list, but for a first one that counts the nodes, and perhaps the edges.

    Without weights, only the other lines tell it from an edge. A ValueError if they can't, and if
    it counts other numbers than there are.
    """
    first, *rest = lines or [[]]
    if len(first) not in (1, 2) or not all(map(_WHOLE.fullmatch, first)):
        return lines
    nodes = {name for line in rest for name in line[:2]}
    edges = {frozenset(line[:2]) for line in rest}
    unweighted = not rest or any(len(line) == 2 or line[2].startswith("{") for line in rest)
    is_edge = len(first) == 2 and unweighted and len(nodes.union(first)) == n
    counts = int(first[0]) == len(nodes)
    if len(first) == 2:
        counts &= int(first[1]) in (len(rest), len(edges))
    told = f"its first line, {' '.join(first)!r}, "
    if is_edge and counts and len(nodes) == n:
        raise ValueError(
            f"{told}may be an edge, or count the nodes and edges in the others; move it down if it "
            f"is an edge, else put # before it"
        )
    if not is_edge and not counts and (len(nodes) == n or len(first) == 1):
        raise ValueError(
            f"{told}does not count the nodes and edges in the others, {len(nodes)} and {len(rest)}"
        )
    return lines if is_edge or not counts else rest


def _adjacency_list(text: str, directed: bool) -> nx.Graph:
    """Each line has a node, then its neighbours."""
    lines = _lines(text)
    (first, *rest) = lines or [[]]
    if len(first) in (2, 3) and all(map(_WHOLE.fullmatch, first)):
        nodes, edges = map(int, first[:2])
        if nodes == len(rest) and 2 * edges == sum(map(len, rest)):
            raise ValueError(
                f"its first line, {' '.join(first)!r}, counts nodes and edges, as in METIS's "
                f"format; in an .adjlist, each line begins with the node whose neighbours it has"
            )
    kind = nx.DiGraph if directed else nx.Graph
    return nx.parse_adjlist([" ".join(line) for line in lines], create_using=kind)


def _node_link(text: str) -> nx.Graph:
    data = json.loads(text)
    return nx.node_link_graph(data, edges="links" if "links" in data else "edges")


def _matrix_market(path: str, directed: bool) -> nx.Graph:
    """An entry in row i and column j is an edge from node i to j, and its weight.

    Nodes have the names 1 … n, as the rows. A matrix that is not symmetric is a directed graph.
    """
    from scipy.io import mminfo, mmread
    from scipy.sparse import coo_array

    rows, columns, entries = mminfo(path)[:3]
    if rows != columns:
        raise ValueError(f"the matrix has {rows} rows and {columns} columns")
    check_declared(Path(path), "graph", 1000 * rows + 16 * entries)
    A = coo_array(mmread(path))
    A.eliminate_zeros()
    found = list(zip((A.row + 1).tolist(), (A.col + 1).tolist(), A.data.tolist(), strict=True))
    if not directed and set(found) == {(j, i, w) for i, j, w in found}:
        graph, found = nx.MultiGraph(), [(i, j, w) for i, j, w in found if i <= j]
    else:
        graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(1, rows + 1))
    graph.add_weighted_edges_from(found)
    return graph
