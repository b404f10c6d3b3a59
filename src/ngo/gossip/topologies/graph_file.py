"""A graph from a file in one of networkx's formats; a graph's nodes as workers.

Nodes are workers in order: by number if all names are whole numbers, else sorted. Text such as
'10', which is all that some files have, is a whole number.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from ngo.common.fields import file
from ngo.common.files import check_readable
from ngo.common.lazy import nx
from ngo.gossip.topology import Edges, topology
from verdicts.registry import UserError, check, in_a_line, shown


def numbered(given: nx.Graph, what: str) -> nx.Graph:
    """The graph on the workers 0 … n − 1, with each edge once, without self-loops.

    A one-line UserError, which begins with ``what``, for a graph with weights other than 1.
    """
    if any(weight not in (None, 1) for _, _, weight in given.edges.data("weight")):
        advice = "remove them, or give the mixing matrix to fit"
        raise UserError(f"{what} has edges with weights, which are not used; {advice}.")
    number = {node: k for k, node in enumerate(in_order(given))}
    kind = nx.DiGraph if given.is_directed() else nx.Graph
    graph = nx.empty_graph(len(number), create_using=kind)
    graph.add_edges_from((number[i], number[j]) for i, j in given.edges() if i != j)
    return graph


def in_order(graph: nx.Graph) -> list[Any]:
    """The nodes in the order of the workers; those of several types are sorted as text."""
    for key in (_whole_number, None):
        try:
            return sorted(graph, key=key)
        except (TypeError, ValueError):
            continue
    return sorted(graph, key=str)


def _whole_number(node: Any) -> int:
    try:
        return int(node) if isinstance(node, str) else operator.index(node)
    except ValueError:
        if (number := float(node)).is_integer():  # as NumPy writes them
            return int(number)
        raise


def _text(path: str) -> str:
    """The text of the file, without the mark at the start of some."""
    return Path(path).read_text(encoding="utf-8-sig")


#: Two names, perhaps in quotes, and what stands after them.
NAME = r"""["']?([^\s,;"'{}()\[\]]+)["']?"""
EDGE = re.compile(rf"{NAME}[\s,;]\s*{NAME}[\s,;]*(\{{.*\}}|\S*)")


def _edge_list(path: str, directed: bool) -> nx.Graph:
    """Two names in each line, apart by a comma, a semicolon or space, and perhaps a weight or {…}.

    Comments begin with #, or a line with %. A first line is a header if its names are no numbers
    and in no other line: as an edge, it would be apart from the others.
    """
    rows: list[tuple[int, str, tuple[str, ...]]] = []
    for k, line in enumerate(_text(path).splitlines(), 1):
        if text := re.sub(r"#.*|^%.*", "", line).strip():
            found = EDGE.fullmatch(text)
            rows.append((k, line, found.groups("") if found else ("", "", "?")))
    if rows[1:]:
        (*ends, more), others = rows[0][2], {name for *_, row in rows[1:] for name in row[:2]}
        header = not others & {*ends} and not "".join(ends).isdigit()
        del rows[: header and bool(more) == bool(rows[1][2][2])]
    for k, line, (*_, more) in rows:
        if more not in ("", "1", "1.0") and more[0] != "{":
            names = "two names, apart by a space, a tab, a comma or a semicolon"
            wanted = f"it must be {names}, without a weight other than 1"
            raise UserError(f"graph: {path!r}, line {k}: {shown(line)} is no edge; {wanted}.")
    edges = [f"{i} {j} {more * more.startswith('{')}" for *_, (i, j, more) in rows]
    return nx.parse_edgelist(edges, create_using=nx.DiGraph if directed else nx.Graph)


def _gml(path: str, directed: bool) -> nx.Graph:
    """Nodes have their labels as names, or their ids if a label is absent or not unique.

    Many files have parallel edges, and do not say that they may.
    """
    start = r'^([^#"\n]*?\bgraph\s*\[)'
    text = re.sub(start, r"\1 multigraph 1 ", _text(path), count=1, flags=re.M)
    try:
        return nx.parse_gml(text)
    except nx.NetworkXError:
        return nx.parse_gml(text, label="id")


#: ``(path, directed)`` → the graph in a file; a format may say itself whether it is directed.
FORMATS: dict[str, Callable[[str, bool], nx.Graph]] = {
    ".edgelist": _edge_list,
    ".graphml": lambda path, directed: nx.read_graphml(path),
    ".gml": _gml,
}

GRAPH = {"graph": file("file of the graph: .edgelist, .graphml or .gml")}

#: The largest file, in bytes.
LARGEST = 1 << 26


@topology("graph_file", options=GRAPH, check=lambda n, graph: read(n, graph, False))
def graph_file(n: int, graph: str) -> Edges:
    """An undirected graph from a file."""
    return list(read(n, graph, False).edges)


@topology(
    "directed_graph_file", directed=True, options=GRAPH, check=lambda n, graph: read(n, graph, True)
)
def directed_graph_file(n: int, graph: str) -> Edges:
    """A directed graph from a file."""
    return list(read(n, graph, True).edges)


def read(n: int, path: str, directed: bool) -> nx.Graph:
    """The ``numbered`` graph in the file.

    A one-line UserError unless the file can be read, and its graph has n nodes and connects them,
    both ways if it is ``directed``.
    """
    status = check_readable(path, "graph", LARGEST).stat()
    graph = _load(path, directed, (status.st_mtime_ns, status.st_size))
    check(len(graph) == n, "workers", n, f"the graph {path!r} has {len(graph)} nodes")
    if not (nx.is_strongly_connected if directed else nx.is_connected)(graph):
        raise UserError(f"graph: {path!r} has no path between some of its nodes.")
    return graph


@lru_cache(maxsize=8)
def _load(path: str, directed: bool, stamp: tuple[int, int]) -> nx.Graph:
    """The file's graph; ``stamp`` changes with the file."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise UserError(f"graph: {path!r} has no known ending; it must be {', '.join(FORMATS)}.")
    try:
        graph = FORMATS[ending](path, directed)
    except UserError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {in_a_line(error)[:200]}"
        raise UserError(f"graph: {path!r} can't be read as {ending}: {why}.") from error
    if not len(graph):
        raise UserError(f"graph: {path!r} has no nodes; it must have one for each worker.")
    if graph.is_directed() != directed:
        kind = "undirected" if directed else "directed"
        needed = "graph_file" if directed else "directed_graph_file"
        raise UserError(f"graph: {path!r} is {kind}; it needs topology {needed!r}.")
    return numbered(graph, f"graph: {path!r}")
