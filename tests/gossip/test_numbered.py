from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from ngo.common.registry import UserError
from ngo.gossip.topologies.graph_file import numbered


def path_of(*nodes):
    """The path along ``nodes``, which are inserted in another order."""
    graph = nx.empty_graph([nodes[k] for k in (2, 0, 3, 1)])
    graph.add_edges_from(pairwise(nodes))
    return graph


@pytest.mark.parametrize("kind", [int, np.int64, np.uint8, float, np.float32, str, np.str_])
def test_whole_numbers_of_any_type_are_workers_by_number(kind):
    graph = numbered(path_of(*map(kind, range(4))), "key: it")
    assert sorted(map(sorted, graph.edges)) == [[0, 1], [1, 2], [2, 3]]
    nodes = list(map(kind, range(4)))
    assert graph.graph == {"nodes": nodes, "names": ["0", "1", "2", "3"], "notes": []}


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        ("abcd", "abcd"),
        (["0", "1", "2", "10"], ["0", "1", "2", "10"]),  # not as text
        ([1, 2, 3, 4], "1234"),
        ([-2, -1, 0, 1], ["-2", "-1", "0", "1"]),
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


def test_the_note_of_a_large_graph_is_short():
    graph = numbered(nx.path_graph(range(1, 1001)), "key: it")
    (note,) = graph.graph["notes"]
    assert note.endswith("7 is '8', … (1000 in all, see graph_nodes)")
    assert graph.graph["names"][-1] == "1000"


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([0, 1, 2, "1"], "^key: it has two nodes of the name '1'; rename one[.]$"),
        ([0, 1, 2, object()], "^key: it has the node <object"),
        ([0, 1, 2, frozenset("ab")], "nodes must be numbers below 2.63, text, or tuples"),
        ([0, 1, 2, float("nan")], "^key: it has the node nan; "),
        ([0, 1, 2, 10**5000], "^key: it has the node this int; "),
        ([0, 1, 2, (0, float("inf"))], "^key: it has the node .0, inf.; "),
    ],
)
def test_nodes_without_an_order_or_a_name_are_refused(nodes, message):
    with pytest.raises(UserError, match=message):
        numbered(path_of(*nodes), "key: it")


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_parallel_edges_are_one_edge_and_told_once(kind):
    given = kind([(0, 1), (0, 1), (0, 1), (1, 2)])
    graph = numbered(given, "key: it")
    assert list(graph.edges) == [(0, 1), (1, 2)]
    assert graph.is_directed() == given.is_directed()
    assert not graph.is_multigraph()
    assert graph.graph["notes"] == [
        "note: key: it has edges more than once (2 repeat others); each counts once"
    ]


def test_parallel_edges_of_several_weights_are_refused():
    given = nx.MultiGraph()
    given.add_weighted_edges_from([(0, 1, 0.25), (0, 1, 0.25)])
    assert list(numbered(given, "key: it").edges.data("weight")) == [(0, 1, 0.25)]
    given.add_edge(1, 0, weight=0.5)
    with pytest.raises(UserError, match=r"it has the edge \(0, 1\) with the weights 0.25 and 0.5"):
        numbered(given, "key: it")
