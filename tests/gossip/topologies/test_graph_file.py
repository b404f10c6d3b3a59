"""Graphs in files: their formats, the names of their nodes, and what is refused."""

import os
from itertools import pairwise

import networkx as nx
import pytest
import torch
from runs import run_in, tiny

from ngo.common.registry import UserError
from ngo.gossip.mixing_matrix import metropolis_hastings
from ngo.gossip.topologies.graph_file import file_nodes, numbered
from ngo.gossip.topology import TOPOLOGIES
from ngo.training.validation import resolve

# A path on the workers 0 to 3, whose nodes have other names in the files, and another order.
NAMES = ["a", "b", "c", "d"]
PATH = nx.path_graph(4)


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


def names_in(n, path):
    return file_nodes(["graph_file"], n, path)["names"]


def weighted(*edges, directed=False):
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_weighted_edges_from(edges)
    return graph


ENDINGS = [".edgelist", ".graphml", ".gml"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_each_format_gives_the_graph_with_metropolis_weights(tmp_path, ending):
    expected = metropolis_hastings(4, PATH.edges).dense()
    assert torch.equal(matrix(written(tmp_path, ending, PATH)), expected)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_directed_graph_shares_mass_equally(tmp_path, ending):
    circle = nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    expected = TOPOLOGIES["directed_ring"].matrix(4).dense()
    expected[:, 0] = torch.tensor([1, 1, 1, 0]) / 3
    actual = matrix(written(tmp_path, ending, circle), directed=True)
    assert torch.allclose(actual, expected, atol=1e-7)


@pytest.mark.parametrize("ending", ENDINGS)
def test_weights_are_the_mixing_matrix(tmp_path, ending):
    path = written(tmp_path, ending, weighted((0, 1, 0.5), (1, 2, 0.25), (2, 3, 0.125)))
    W = matrix(path)
    assert W.diagonal().tolist() == [0.5, 0.25, 0.625, 0.875]
    assert W.diagonal(1).tolist() == W.diagonal(-1).tolist() == [0.5, 0.25, 0.125]
    assert W.count_nonzero() == 10


def test_directed_weights_are_shares_of_the_sender(tmp_path):
    graph = weighted((0, 1, 0.25), (0, 2, 0.5), (1, 2, 1), (2, 3, 0.5), (3, 0, 1), directed=True)
    W = matrix(written(tmp_path, ".gml", graph), directed=True)
    expected = [[0.25, 0, 0, 1], [0.25, 0, 0, 0], [0.5, 1, 0.5, 0], [0, 0, 0.5, 0]]
    assert W.tolist() == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.edgelist", "0 1\n2 3\n", "graph: '.*' is not connected"),
        ("a.edgelist", "0 1\n1 2\n", "workers: 4 is not the number of nodes in graph '.*', 3"),
        ("a.edgelist", "0\n1 2 3 4\n", "a line has one node, '0'; an edge has two"),
        ("a.edgelist", "0 1 .5\n1 0 .25\n1 2 .1\n", "with the weights 0.5 and 0.25; give it once"),
        ("a.xlsx", "0 1\n", "graph: '.*' has no known ending; it must be .edgelist, .graphml"),
        ("a.gml", "graph [", "graph: '.*' can't be read as .gml: "),
        (
            "a.edgelist",
            "0 1 0.5\n1 2 0.75\n2 3 0.1\n",
            r"graph: the weights at node '1' in '.*' sum to 1.25; at most 1",
        ),
        ("a.edgelist", "0 1 0.5\n1 2 -1\n2 3 0.1\n", r"the edge \('1', '2'\) in .* weight -1"),
        (
            "a.edgelist",
            "0 1 {'weight': 0.5}\n1 2 {}\n2 3 {}\n",
            r"the edge \('1', '2'\) in '.*' has the weight None; it must be a number above 0",
        ),
    ],
)
def test_a_wrong_file_is_a_line_before_the_run(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=message) as error:
        resolve({"topology": "graph_file", "graph": str(tmp_path / name), "workers": 4})
    assert "\n" not in str(error.value)


def test_directions_must_be_those_of_the_topology(tmp_path):
    circle = written(tmp_path, ".gml", nx.cycle_graph(4, create_using=nx.DiGraph))
    with pytest.raises(UserError, match="is directed; it needs topology 'directed_graph_file'"):
        matrix(circle)
    path = written(tmp_path, ".graphml", PATH)
    with pytest.raises(UserError, match="is undirected; it needs topology 'graph_file'"):
        matrix(path, directed=True)
    one_way = written(tmp_path, ".graphml", nx.path_graph(4, create_using=nx.DiGraph))
    with pytest.raises(UserError, match="has no directed path between some of its nodes"):
        matrix(one_way, directed=True)


PARALLEL = "has edges more than once (1 repeat others); each counts once"


def test_each_run_says_once_what_its_graph_file_has(tmp_path):
    (tmp_path / "own.edgelist").write_text("c b\nb a\na b\n")
    spec = tiny(topology="graph_file", graph=str(tmp_path / "own.edgelist"))
    told = run_in(spec, tmp_path / "run")
    what = f"note: graph: {str(tmp_path / 'own.edgelist')!r}"
    names = "has nodes with names: worker 0 is 'a', 1 is 'b', 2 is 'c'"
    assert told == [f"{what} {PARALLEL}", f"{what} {names}"]
    assert not any("note" in line for line in run_in(spec, tmp_path / "run"))


def test_nothing_waits_for_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "g.edgelist")
    (tmp_path / "link.gml").symlink_to("g.edgelist")
    for name in ("g.edgelist", "link.gml"):
        with pytest.raises(UserError, match="^graph: .* can't be read: it is not a regular file"):
            resolve({"topology": "graph_file", "graph": str(tmp_path / name), "workers": 3})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "graph: it is missing; it must be a file"),
        ({"graph": 3}, "graph: 3 is not a path; it must be a file"),
        ({"graph": "/none.gml"}, "graph: '/none.gml' does not exist"),
        ({"graph": "x.gml", "topology": "ring"}, "graph is read with topology directed_graph_file"),
    ],
)
def test_a_path_is_needed(tmp_path, monkeypatch, values, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.gml").touch()
    with pytest.raises(UserError, match=message):
        resolve({"topology": "graph_file", **values})


def test_a_gml_file_need_not_say_that_it_has_parallel_edges(tmp_path):
    path = tmp_path / "zoo.gml"
    lines = ['Creator "the graph [ of Réunion"', "graph", "[", '  Network "Réunion"']
    lines += [f'  node [ id {k} label "{name}" ]' for k, name in enumerate(("Z", "É", "A"))]
    lines += ['  edge [ source 0 target 1 LinkLabel "a" ]', "  edge [ source 1 target 0 ]"]
    path.write_text("\n".join([*lines, "  edge [ source 1 target 2 ]", "]"]), encoding="utf-8")
    assert names_in(3, str(path)) == ["A", "Z", "É"]
    assert matrix(str(path), 3).count_nonzero() == 7


def path_of(*nodes):
    """The path along ``nodes``, which are inserted in another order."""
    graph = nx.empty_graph([nodes[k] for k in (2, 0, 3, 1)])
    graph.add_edges_from(pairwise(nodes))
    return graph


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        ("abcd", "abcd"),
        (["0", "1", "2", "10"], ["0", "1", "2", "10"]),  # not as text
        (["-2", "-1", "0", "1"], ["-2", "-1", "0", "1"]),
        ([0.5, 1, 10.5, 11], ["0.5", "1", "10.5", "11"]),
        ([(0, 0), (0, 2), (0, 10), (1, 0)], ["(0, 0)", "(0, 2)", "(0, 10)", "(1, 0)"]),
        ([1, 10, 9, "x"], ["1", "10", "9", "x"]),  # of two kinds: as text
    ],
)
def test_other_names_are_sorted_and_told(nodes, names):
    graph = numbered(path_of(*nodes), "key: it")
    assert sorted(map(sorted, graph.edges)) == [[0, 1], [1, 2], [2, 3]]
    assert graph.graph["names"] == list(names)
    (note,) = graph.graph["notes"]
    told = ", ".join(f"{k} is {name!r}" for k, name in enumerate(names))
    assert note == f"note: key: it has nodes with names: worker {told}"


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([0, 1, 2, "1"], "^key: it has two nodes of the name '1'; rename one[.]$"),
        ([0, 1, 2, object()], "^key: it has the node <object"),
        ([0, 1, 2, 10**5000], "^key: it has the node this int; "),
    ],
)
def test_nodes_without_an_order_or_a_name_are_refused(nodes, message):
    with pytest.raises(UserError, match=message):
        numbered(path_of(*nodes), "key: it")


def test_parallel_edges_of_several_weights_are_refused():
    given = nx.MultiGraph()
    given.add_weighted_edges_from([(0, 1, 0.25), (0, 1, 0.25)])
    assert list(numbered(given, "key: it").edges.data("weight")) == [(0, 1, 0.25)]
    given.add_edge(1, 0, weight=0.5)
    with pytest.raises(UserError, match=r"it has the edge \(0, 1\) with the weights 0.25 and 0.5"):
        numbered(given, "key: it")
