"""The nodes of a networkx graph as workers.

Nodes are workers in the order of their names: by number if all are different whole numbers, else
sorted. With the names 0 … n − 1, a node's name is its worker's number. A name that equals a whole
number is one: networkx takes 1, ``np.int64(1)``, 1.0 and True for the same node. So is text such as
'10', which is all that some files have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from numbers import Real
from typing import Any

from ngo.common.lazy import nx
from ngo.common.registry import UserError, shown

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
