"""Graphs in files: their formats, the names of their nodes, and what is refused."""

import os
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import torch
from cases import cases, refused

from ngo.common.registries import TOPOLOGIES
from ngo.gossip.mixing_matrix import mixing_of
from ngo.gossip.topologies.graph_file import in_order, numbered
from ngo.training.spec_checks import resolve
from verdicts.registry import UserError

# A path on the workers 0 to 3, whose nodes have other names in the files, and another order.
NAMES = ["a", "b", "c", "d"]
PATH = nx.path_graph(4)
EDGES = np.array([*PATH.edges])


def written(folder, ending, graph):
    """The path of a file with ``graph`` on the nodes ``NAMES``, which it names in another order."""
    named = nx.empty_graph(NAMES[::-1], create_using=type(graph))
    named.add_edges_from((NAMES[i], NAMES[j], data) for i, j, data in graph.edges.data())
    path = folder / f"graph{ending}"
    getattr(nx, f"write_{ending[1:]}")(named, path)
    return str(path)


def matrix(path, n=4, directed=False):
    entry = TOPOLOGIES["directed_graph_file" if directed else "graph_file"]
    entry.check_values(n, graph=path)
    return entry.matrix(n, graph=path).dense()


@pytest.mark.parametrize("ending", [".edgelist", ".graphml", ".gml"])
def test_each_format_gives_the_graph(tmp_path, ending):
    assert torch.equal(matrix(written(tmp_path, ending, PATH)), mixing_of(4, EDGES).dense())
    circle = nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    expected = TOPOLOGIES["directed_ring"].matrix(4).dense()
    expected[:, 0] = torch.tensor([1, 1, 1, 0]) / 3
    actual = matrix(written(tmp_path, ending, circle), directed=True)
    assert torch.allclose(actual, expected, atol=1e-7)


@cases(
    "name, text, message",
    ("a.edgelist", "0 1\n2 3\n", "graph: '.*' has no path between some of its nodes"),
    ("a.edgelist", "% a\n0 1\n1 2\n", "workers: 4 is not allowed; the graph '.*' has 3 nodes"),
    ("a.edgelist", "0 1\n1 2 0.5\n", "a.edgelist', line 2: '1 2 0.5' is no edge; it must be"),
    ("a.edgelist", "New York,Boston\nBoston,Rome\n", "line 1: 'New York,Boston' is no edge"),
    ("a.edgelist", "(0, 1)\n1 2\n", "line 1: '.0, 1.' is no edge; it must be two names, apart"),
    ("a.edgelist", '{"edges": [[0, 1]]}', "line 1: .* is no edge; it must be two names"),
    ("a.edgelist", "0 1\n2\n", "line 2: '2' is no edge; it must be two names, apart by a sp"),
    ("a.edgelist", "", "graph: '.*a.edgelist' has no nodes; it must have one for each worker"),
    ("a.gml", "graph [\n]\n", "graph: '.*a.gml' has no nodes; it must have one for each wor"),
    ("a.edgelist", "0 1 {'weight': 0.5}\n1 2 {}\n2 3 {}\n", "has edges with weights"),
    ("a.xlsx", "0 1\n", "graph: '.*' has no known ending; it must be .edgelist, .graphml"),
    ("a.gml", "graph [", "graph: '.*' can't be read as .gml: "),
)
def test_a_wrong_file_is_a_line_before_the_run(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=message):
        resolve({"topology": "graph_file", "graph": str(tmp_path / name), "workers": 4})


@cases(
    "text",
    "source,target\n0,1\n1,2\n2,3\n",
    "\ufeffSource;Target;Weight\r\n0;1;1\r\n1;2;1.0\r\n2;3;1\r\n",
    "from\tto\na\tb\nb\tc\nc\td\n",
    '"a","b"\n"b","c"\n"c","d"\n',
    "1 2  # one\n2 3 {'colour': 'red'}\n3 4\n",
    "0.0e+00, 1.0e+00\n1.0e+00, 2.0e+00\n2.0e+00, 10.0e+00\n",
)
def test_edge_lists_of_other_programs_give_the_graph(tmp_path, text):
    """Columns by commas, semicolons or tabs; headers, quotes, and numbers as NumPy writes them."""
    (tmp_path / "a.edgelist").write_text(text, encoding="utf-8")
    assert torch.equal(matrix(str(tmp_path / "a.edgelist")), mixing_of(4, EDGES).dense())


def test_directions_must_be_those_of_the_topology(tmp_path):
    circle = nx.cycle_graph(4, create_using=nx.DiGraph)
    one_way = nx.path_graph(4, create_using=nx.DiGraph)
    for graph, directed, message in (
        (circle, False, "is directed; it needs topology 'directed_graph_file'"),
        (PATH, True, "is undirected; it needs topology 'graph_file'"),
        (one_way, True, "has no path between some of its nodes"),
    ):
        refused(message, matrix, written(tmp_path, ".gml", graph), directed=directed)


def test_nothing_waits_for_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "g.edgelist")
    (tmp_path / "link.gml").symlink_to("g.edgelist")
    for name in ("g.edgelist", "link.gml"):
        with pytest.raises(UserError, match="^graph: .* can't be read: it is not a regular file"):
            resolve({"topology": "graph_file", "graph": str(tmp_path / name), "workers": 3})


def test_a_gml_file_need_not_say_that_it_has_parallel_edges(tmp_path):
    path = tmp_path / "zoo.gml"
    lines = ['Creator "the graph [ of Réunion"', "graph", "[", '  Network "Réunion"']
    lines += [f'  node [ id {k} label "{name}" ]' for k, name in enumerate(("Z", "É", "A"))]
    lines += ['  edge [ source 0 target 1 LinkLabel "a" ]', "  edge [ source 1 target 0 ]"]
    path.write_text("\n".join([*lines, "  edge [ source 1 target 2 ]", "]"]), encoding="utf-8")
    assert matrix(str(path), 3)[0].count_nonzero() == 2  # of A, which has one neighbour
    assert matrix(str(path), 3).count_nonzero() == 7


@cases(
    "nodes",
    ["0", "1", "2", "10"],  # not as text
    ["-2", "-1", "0", "1"],
    [0.5, 1, 10.5, 11],
    [(0, 0), (0, 2), (0, 10), (1, 0)],
    [1, 10, 9, "x"],  # of two kinds: as text
)
def test_nodes_are_sorted(nodes):
    path = nx.empty_graph([nodes[k] for k in (2, 0, 3, 1)])
    path.add_edges_from(pairwise(nodes))
    assert sorted(map(sorted, numbered(path, "key: it").edges)) == [[0, 1], [1, 2], [2, 3]]
    assert in_order(path) == nodes
