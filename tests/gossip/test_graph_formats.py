import networkx as nx
import pytest
import torch
from graph_files import matrix, names_in, written
from scipy.io import mmwrite

from ngo.common.registry import UserError
from ngo.gossip.mixing_matrix import metropolis_hastings


def test_a_gml_file_need_not_say_that_it_has_parallel_edges(tmp_path):
    path = tmp_path / "zoo.gml"
    lines = ['Creator "the graph [ of Réunion"', "graph", "[", '  Network "Réunion"']
    lines += [f'  node [ id {k} label "{name}" ]' for k, name in enumerate(("Z", "É", "A"))]
    lines += ['  edge [ source 0 target 1 LinkLabel "a" ]', "  edge [ source 1 target 0 ]"]
    path.write_text("\n".join([*lines, "  edge [ source 1 target 2 ]", "]"]), encoding="utf-8")
    assert names_in(3, str(path)) == ["A", "Z", "É"]
    assert matrix(str(path), 3).count_nonzero() == 7


LINE = "0 1\n1 2\n"


def test_a_mark_at_the_start_and_comments_are_no_edges(tmp_path):
    text = f"\ufeff# n m\n% n m\n\n{LINE}"
    (tmp_path / "own.edgelist").write_text(text, encoding="utf-8")
    assert names_in(3, str(tmp_path / "own.edgelist")) == list("012")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.edgelist", f"{LINE}3\n", "a line has one node, '3'; an edge has two"),
        ("a.edgelist", f"n\n{LINE}", "a line has one node, 'n'; an edge has two"),
        ("a.edgelist", "0,1\n1,2\n", "a line has one node, '0,1'; an edge has two"),
        ("a.edgelist", "0 1 .5\n1 0 .25\n1 2 .1\n", "with the weights 0.5 and 0.25; give it once"),
        ("a.edgelist", "\0" * 1000, "a line has one node"),
        ("a.json", '{"nodes": [{"id": 1}, {"id": "1"}], "edges": []}', "two nodes of the name '1'"),
    ],
)
def test_what_is_no_graph_for_sure_is_a_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=message) as error:
        names_in(3, str(tmp_path / name))
    assert len(str(error.value)) < 400


COORDINATES = "%%MatrixMarket matrix coordinate"


@pytest.mark.parametrize(
    "text",
    [
        "pattern symmetric\n% a comment\n3 3 2\n2 1\n3 2\n",
        "pattern symmetric\n3 3 3\n2 1\n3 2\n3 2\n",
        "integer general\n3 3 4\n1 2 1\n2 1 1\n2 3 1\n3 2 1\n",
        "real symmetric\n3 3 4\n1 1 7\n2 1 1\n3 1 0\n3 2 1\n",
    ],
)
def test_a_matrix_of_ones_is_a_graph_without_weights(tmp_path, text):
    (tmp_path / "a.mtx").write_text(f"{COORDINATES} {text}")
    expected = metropolis_hastings(3, [(0, 1), (1, 2)]).dense()
    assert torch.equal(matrix(str(tmp_path / "a.mtx"), 3), expected)
    assert names_in(3, str(tmp_path / "a.mtx")) == ["1", "2", "3"]


@pytest.mark.parametrize("directed", [False, True])
def test_a_matrix_that_scipy_writes_is_the_mixing_matrix(tmp_path, directed):
    graph = nx.cycle_graph(4, create_using=nx.DiGraph if directed else nx.Graph)
    if not directed:
        graph.remove_edge(0, 3)
    for k, edge in enumerate(graph.edges):
        graph.edges[edge]["weight"] = 2.0 ** -(k + 1)
    mmwrite(tmp_path / "a.mtx", nx.to_scipy_sparse_array(graph))
    same = written(tmp_path, ".gml", graph)
    found = matrix(str(tmp_path / "a.mtx"), directed=directed)
    assert torch.equal(found, matrix(same, directed=directed))
    (tmp_path / "dense.mtx").write_text("")
    mmwrite(tmp_path / "dense.mtx", nx.to_numpy_array(graph))
    assert torch.equal(found, matrix(str(tmp_path / "dense.mtx"), directed=directed))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{COORDINATES} pattern general\n3 3 2\n1 2\n2 3\n", "is directed; it needs topology"),
        (f"{COORDINATES} pattern general\n3 4 2\n1 2\n2 3\n", "has 3 rows and 4 columns"),
        (f"{COORDINATES} pattern symmetric\n3 3 1\n2 1\n", "is not connected"),
        (f"{COORDINATES} pattern symmetric\n4 4 3\n2 1\n3 2\n4 3\n", "workers: 3 is not the num"),
        (f"{COORDINATES} pattern symmetric\n3 3 9\n2 1\n", "can't be read as .mtx: ValueError"),
        (f"{COORDINATES} pattern symmetric\n3 3 2000000000\n2 1\n", "declares a content of"),
        (f"{COORDINATES} pattern symmetric\n900000000 900000000 1\n2 1\n", "declares a content"),
        ("%%MatrixMarket matrix array real general\n99999 99999\n1\n", "declares a content of"),
        (f"{COORDINATES} complex symmetric\n3 3 2\n2 1 0 1\n3 2 0 1\n", "has the weight 1j"),
        (f"{COORDINATES} real symmetric\n3 3 3\n2 1 .1\n2 1 .2\n3 2 .3\n", "weights 0.1 and 0.2"),
        ("3 3 2\n2 1\n3 2\n", "can't be read as .mtx: ValueError: Line 1: Not a Matrix"),
    ],
)
def test_a_matrix_that_is_no_such_graph_is_a_line(tmp_path, text, message):
    (tmp_path / "a.mtx").write_text(text)
    with pytest.raises(UserError, match=message):
        matrix(str(tmp_path / "a.mtx"), 3)
