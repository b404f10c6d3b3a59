import json
import os
from pathlib import Path

import networkx as nx
import pytest
import torch
from graph_files import PATH, matrix, names_in, weighted, written
from runs import run_in, tiny

from ngo.common.registry import UserError
from ngo.gossip.mixing_matrix import metropolis_hastings
from ngo.gossip.topology import TOPOLOGIES
from ngo.training.resolve import resolve
from ngo.training.results_version import named_files, results_version

ENDINGS = [".edgelist", ".adjlist", ".graphml", ".gml", ".json"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_each_format_gives_the_graph_with_metropolis_weights(tmp_path, ending):
    expected = metropolis_hastings(4, PATH.edges).dense()
    assert torch.equal(matrix(written(tmp_path, ending, PATH)), expected)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_directed_graph_shares_mass_equally(tmp_path, ending):
    circle = nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    expected = TOPOLOGIES["directed_ring"].matrix(4).dense()
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


@pytest.mark.parametrize("ending", [".edgelist", ".graphml", ".gml", ".json"])
def test_weights_that_are_all_1_are_none(tmp_path, ending):
    path = written(tmp_path, ending, weighted((0, 1, 1), (1, 2, 1.0), (2, 3, 1), (3, 3, 2)))
    assert torch.equal(matrix(path), metropolis_hastings(4, PATH.edges).dense())


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
        ("a.edgelist", "", "workers: 4 is not the number of nodes in graph '.*', 0"),
        ("a.edgelist", "0\n1 2 3 4\n", "graph: '.*' can't be read as .edgelist: "),
        ("a.xlsx", "0 1\n", "graph: '.*' has no known ending; it must be .edgelist, .adjlist, "),
        ("a.json", "{}", "graph: '.*' can't be read as .json: KeyError: "),
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


def test_a_gml_file_without_labels_of_their_own_goes_by_ids(tmp_path):
    path = tmp_path / "own.gml"
    nodes = "".join(f' node [ id {k} label "same" ]' for k in (2, 1, 0))
    path.write_text(f"graph [{nodes} edge [ source 2 target 1 ] edge [ source 2 target 0 ] ]")
    assert names_in(3, str(path)) == ["0", "1", "2"]
    assert matrix(str(path), 3)[2].nonzero().flatten().tolist() == [0, 1, 2]


def test_the_record_of_a_run_names_the_nodes(tmp_path):
    (tmp_path / "own.edgelist").write_text("c b\nb a\n")
    spec = tiny(topology="graph_file", graph=str(tmp_path / "own.edgelist"))
    run_in(spec, tmp_path / "run")
    assert json.loads((tmp_path / "run/run.json").read_text())["graph_nodes"] == ["a", "b", "c"]
    run_in(tiny(), tmp_path / "other")
    assert "graph_nodes" not in json.loads((tmp_path / "other/run.json").read_text())


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


PARALLEL = "has edges more than once (1 repeat others); each counts once"


def test_each_run_says_once_what_its_graph_file_has(tmp_path):
    (tmp_path / "own.edgelist").write_text("c b\nb a\na b\n")
    spec = tiny(topology="graph_file", graph=str(tmp_path / "own.edgelist"))
    told = run_in(spec, tmp_path / "run")
    what = f"note: graph: {str(tmp_path / 'own.edgelist')!r}"
    names = "has nodes with names: worker 0 is 'a', 1 is 'b', 2 is 'c'"
    assert told == [f"{what} {PARALLEL}", f"{what} {names}"]
    assert not any("note" in line for line in run_in(spec, tmp_path / "run"))


def test_a_file_of_2_gb_is_not_read(tmp_path):
    with open(tmp_path / "a.edgelist", "wb") as file:
        file.truncate(2 * 10**9)
    with pytest.raises(UserError, match="has 2,000,000,000 bytes; at most 67,108,864"):
        names_in(3, str(tmp_path / "a.edgelist"))


def test_nothing_waits_for_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "g.edgelist")
    (tmp_path / "link.gml").symlink_to("g.edgelist")
    for name in ("g.edgelist", "link.gml"):
        with pytest.raises(UserError, match="^graph: .* can't be read: it is not a regular file"):
            resolve({"topology": "graph_file", "graph": str(tmp_path / name), "workers": 3})


def test_the_contents_decide_the_results_version(tmp_path):
    path = written(tmp_path, ".gml", PATH)
    spec = resolve({"topology": "graph_file", "graph": path, "workers": 4})
    assert named_files(spec.values()) == {"graph": Path(path)}
    assert named_files(resolve({}).values()) == {}
    first = results_version(spec)
    assert first == results_version(spec)
    written(tmp_path, ".gml", nx.cycle_graph(4))
    assert results_version(spec) != first
    assert torch.allclose(matrix(path), TOPOLOGIES["ring"].matrix(4).dense())


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
