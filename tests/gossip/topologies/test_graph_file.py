import json
from pathlib import Path

import networkx as nx
import pytest
import torch

from ngo.common.registry import UserError
from ngo.gossip.topology import TOPOLOGIES
from ngo.gossip.weights import metropolis_hastings
from ngo.training.code import named_files, run_fingerprint
from ngo.training.resolve import resolve

# A path on the workers 0 to 3, whose nodes have other names in the files.
NAMES = ["d", "b", "c", "a"]
PATH = nx.path_graph(4)


def written(folder, ending, graph):
    """The path of a file with ``graph`` on the nodes ``NAMES``, in this order."""
    named = nx.empty_graph(NAMES, create_using=type(graph))
    named.add_edges_from((NAMES[i], NAMES[j], data) for i, j, data in graph.edges.data())
    path = folder / f"graph{ending}"
    if ending == ".json":
        path.write_text(json.dumps(nx.node_link_data(named)))
    else:
        getattr(nx, f"write_{ending[1:]}")(named, path)
    return str(path)


def matrix(path, n=4, directed=False):
    entry = TOPOLOGIES["directed_graph_file" if directed else "graph_file"]
    entry.check_values(n, graph=path)
    return entry.matrix(n, graph=path)


def weighted(*edges, directed=False):
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_weighted_edges_from(edges)
    return graph


ENDINGS = [".edgelist", ".adjlist", ".graphml", ".gml", ".json"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_each_format_gives_the_graph_with_metropolis_weights(tmp_path, ending):
    expected = metropolis_hastings(4, list(PATH.edges))
    assert torch.equal(matrix(written(tmp_path, ending, PATH)), expected)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_directed_graph_shares_mass_equally(tmp_path, ending):
    circle = nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    expected = TOPOLOGIES["directed_ring"].matrix(4)
    expected[:, 0] = torch.tensor([1, 1, 1, 0]) / 3
    found = matrix(written(tmp_path, ending, circle), directed=True)
    assert torch.allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("ending", [".edgelist", ".graphml", ".gml", ".json"])
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


def test_lines_of_two_workers_and_a_weight(tmp_path):
    path = tmp_path / "own.edgelist"
    path.write_text("# from to weight\n5 7 0.5\n7 9 0.25\n9 9 0.1\n")
    assert matrix(str(path), 3).tolist() == [[0.5, 0.5, 0], [0.5, 0.25, 0.25], [0, 0.25, 0.75]]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.edgelist", "0 1\n2 3\n", "graph: '.*' is not connected"),
        ("a.edgelist", "0 1\n1 2\n", "workers: 4 is not the number of nodes in graph '.*', 3"),
        ("a.edgelist", "", "workers: 4 is not the number of nodes in graph '.*', 0"),
        ("a.edgelist", "0\n1 2 3 4\n", "graph: '.*' can't be read as .edgelist: "),
        ("a.xlsx", "0 1\n", "graph: '.*' has no known ending; it must be .edgelist, .adjlist, "),
        ("a.json", "{}", "graph: '.*' can't be read as .json: KeyError: "),
        ("a.gml", "graph [", "graph: '.*' can't be read as .gml: "),
        (
            "a.edgelist",
            "0 1 0.5\n1 2 0.75\n2 3 0.1\n",
            r"graph: the weights at node 1 in '.*' sum to 1.25; at most 1",
        ),
        ("a.edgelist", "0 1 0.5\n1 2 -1\n2 3 0.1\n", r"graph: the edge \(1, 2\) in .* weight -1.0"),
        (
            "a.edgelist",
            "0 1 {'weight': 0.5}\n1 2 {}\n2 3 {}\n",
            r"graph: the edge \(1, 2\) in '.*' has the weight None; it must be a number above 0",
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
    one_way = written(tmp_path, ".json", nx.path_graph(4, create_using=nx.DiGraph))
    with pytest.raises(UserError, match="has no directed path between some of its nodes"):
        matrix(one_way, directed=True)


def test_parallel_edges_are_refused(tmp_path):
    path = written(tmp_path, ".json", nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 3)]))
    with pytest.raises(UserError, match="has parallel edges"):
        matrix(path)


def test_the_contents_decide_the_fingerprint(tmp_path):
    path = written(tmp_path, ".gml", PATH)
    spec = resolve({"topology": "graph_file", "graph": path, "workers": 4})
    assert named_files(spec.values()) == {"graph": Path(path)}
    assert named_files(resolve({}).values()) == {}
    first = run_fingerprint(spec)
    assert first == run_fingerprint(spec)
    written(tmp_path, ".gml", nx.cycle_graph(4))
    assert run_fingerprint(spec) != first
    assert torch.allclose(matrix(path), TOPOLOGIES["ring"].matrix(4))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "graph: None is not a path; it must be a file"),
        ({"graph": 3}, "graph: 3 is not a path; it must be a file"),
        ({"graph": "/none.gml"}, "graph: '/none.gml' can't be read: No such file"),
        ({"graph": "x.gml", "topology": "ring"}, "graph is read with topology directed_graph_file"),
    ],
)
def test_a_path_is_needed(tmp_path, monkeypatch, values, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.gml").touch()
    with pytest.raises(UserError, match=message):
        resolve({"topology": "graph_file", **values})
