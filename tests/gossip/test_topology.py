"""What a topology returns, and what is refused: unknown workers, no matrix, no path between all."""

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.sparse import coo_array

from ngo.common.fields import DECLARED, above, whole
from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.topology import TOPOLOGIES, Mixing, check_connected, topology
from ngo.training.spec_checks import resolve
from verdicts.registry import UserError


class Fields:
    """The fields of a run, as attributes."""

    u = 0.4
    hops = 2


@pytest.fixture
def own_topology(own_entries):
    """A function that registers given edges as the topology "own"."""
    return lambda edges: topology("own")(lambda n: edges)


def test_an_edge_counts_once_however_often_it_is_returned(own_topology):
    """Repeated, reversed, or a self-loop: the degrees of a path on three workers are 1, 2, 1."""
    graph = own_topology([(1, 0), (0, 1), (0, 1), (1, 2), (2, 2)])(3)
    assert TOPOLOGIES["own"].edges(3) == [(0, 1), (1, 2)]
    assert sorted(graph.edges) == [(0, 1), (1, 2)]
    assert torch.equal(Mixing("own", 3, None).at(0).dense(), mixing_matrix(nx.path_graph(3)))


@pytest.mark.parametrize("edge", [(0, 3), (-1, 0)])
def test_an_edge_to_an_unknown_worker_is_named(own_topology, edge):
    graph = own_topology([(0, 1), edge])
    message = rf"topology: 'own' has an edge \({edge[0]}, {edge[1]}\) on 3 workers; they are 0 to 2"
    with pytest.raises(UserError, match=message):
        TOPOLOGIES["own"].edges(3)
    with pytest.raises(UserError, match=message):
        graph(3)


def test_the_matrices_of_a_declared_period_are_made_once(own_entries):
    asked = []

    @topology("pairs", period=lambda n: n - 1, matching=True)
    def pairs(n, t, u):
        asked.append(t)
        return [(0, 1 + t % (n - 1))]

    mixing = Mixing("pairs", 4, Fields)
    matrices = [mixing.at(t) for t in range(8)]
    assert asked == [0, 1, 2]
    assert all(matrices[t] is matrices[t % 3] for t in range(8))
    assert mixing.at(100) is matrices[1]
    entry = TOPOLOGIES["pairs"]
    assert (entry.period(9, u=0.4), entry.matching(9, u=0.4)) == (8, True)


def test_a_check_refuses_a_graph_before_it_is_made(own_entries):
    def even(n, u):
        if n % 2 or u > 0.5:
            raise UserError("workers: odd.")

    topology("even", check=even)(lambda n, u: [(0, 1)])
    entry = TOPOLOGIES["even"]
    entry.check_values(4, u=0.4)
    for call in (entry.check_values, entry.edges, entry.matrix):
        with pytest.raises(UserError, match="odd"):
            call(3, u=0.4)
        with pytest.raises(UserError, match="odd"):
            call(4, u=0.6)


def test_a_topology_reads_fields_by_name_and_adds_its_own(own_entries):
    hops = whole("how far edges reach", 2, above(0))

    @topology("circulant", options={"hops": hops})
    def circulant(n, u, hops):
        return [(i, (i + k) % n) for i in range(n) for k in range(1, hops + 1)] if u < 1 else []

    entry = TOPOLOGIES["circulant"]
    assert (entry.fields, entry.varies) == (("u", "hops"), False)
    assert DECLARED["hops"].owners == ("topology",)
    assert Mixing("circulant", 7, Fields).at(0).edges == 7 * 4


def test_a_topology_may_have_weights_of_its_own(own_entries):
    lazy = torch.tensor([[0.8, 0.2, 0], [0.2, 0.7, 0.1], [0, 0.1, 0.9]], dtype=torch.float64)

    @topology("lazy", weighted=True)
    def path(n):
        return lazy.tolist()

    assert torch.equal(Mixing("lazy", 3, None).at(0).dense(), lazy)
    assert TOPOLOGIES["lazy"].edges(3) == [(0, 1), (1, 2)]
    assert sorted(path(3).edges) == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        ([[0.5, 0.5]], r"has shape \[1, 2\], and not \[2, 2\]"),
        ([[0.9, 0.2], [0.2, 0.9]], "has columns that do not sum to 1; networkx.*"),
        ([[0.9, 0.2], [0.1, 0.8]], "is not symmetric; a directed topology .*"),
        ([[1.5, -0.5], [-0.5, 1.5]], "has entries that are not finite numbers of 0 or more"),
        ([[float("nan"), 0.5], [0.5, 0.5]], "has entries that are not finite numbers of 0 or more"),
        ("edges", r"is not a matrix \(.*\)"),
        ([[1], [0, 1]], r"is not a matrix \(.*\)"),
    ],
)
def test_a_matrix_of_its_own_is_checked(own_entries, matrix, reason):
    topology("own", weighted=True)(lambda n: matrix)
    message = f"^topology: the mixing matrix of 'own' {reason}\\.$"
    for call in (TOPOLOGIES["own"].matrix, TOPOLOGIES["own"].edges):
        with pytest.raises(UserError, match=message) as told:
            call(2)
        assert "\n" not in str(told.value)


def test_a_directed_topology_shares_mass_along_its_edges(own_entries):
    """Worker 0 sends to 1 and 2, worker 1 to 2, worker 2 to nobody."""

    @topology("stairs", directed=True)
    def stairs(n):
        return [(0, 1), (0, 2), (1, 2), (1, 2), (2, 2)]

    entry = TOPOLOGIES["stairs"]
    assert entry.directed
    assert entry.edges(3) == [(0, 1), (0, 2), (1, 2)]
    W = Mixing("stairs", 3, None).at(0).dense()
    third = 1 / 3
    expected = [[third, 0, 0], [third, 0.5, 0], [third, 0.5, 1]]
    assert torch.allclose(W, torch.tensor(expected, dtype=torch.float64))
    graph = stairs(3)
    assert graph.is_directed()
    assert sorted(graph.edges) == [(0, 1), (0, 2), (1, 2)]


@pytest.mark.parametrize(
    "edges", [None, [0, 1], [(0, 1, 2)], [("a", "b")], np.zeros((2, 2)), np.array(3)]
)
def test_a_topology_that_returns_no_pairs_is_one_line(own_entries, edges):
    topology("own")(lambda n: edges)
    with pytest.raises(
        UserError, match=r"^topology: 'own' does not return pairs of workers: .*\.$"
    ):
        TOPOLOGIES["own"].edges(3)


def test_edges_and_matrices_may_be_arrays(own_entries):
    """Of NumPy, torch or SciPy; an entry of a sparse array that is there twice counts twice."""
    topology("numpy")(lambda n: np.array([(1, 0), (1, 2), (0, 1)]))
    topology("torch")(lambda n: torch.tensor([(1, 0), (1, 2), (0, 1)]))
    for name in ("numpy", "torch"):
        assert TOPOLOGIES[name].edges(3) == [(0, 1), (1, 2)]
    entries = [0.25, 0.25, 0.5, 0.5, 0.5], ([0, 0, 1, 0, 1], [1, 1, 0, 0, 1])
    topology("sparse", weighted=True)(lambda n: coo_array(entries, shape=(2, 2)))
    assert TOPOLOGIES["sparse"].matrix(2).dense().tolist() == [[0.5, 0.5], [0.5, 0.5]]
    with pytest.raises(UserError, match=r"has shape \[2, 2\], and not \[3, 3\]"):
        TOPOLOGIES["sparse"].matrix(3)


# Edges on four workers, and the first worker that worker 0 does not reach.
EDGES = {
    "a pair of four": ([(0, 1)], 2),
    "no edge": ([], 1),
    "an isolated worker": ([(0, 1), (1, 2), (0, 2)], 3),
}


@pytest.fixture(autouse=True)
def removed(own_entries):
    """The topologies of a test are removed when it ends."""


@pytest.mark.parametrize(("edges", "missing"), EDGES.values(), ids=EDGES)
def test_a_graph_in_pieces_is_refused_before_the_run(edges, missing):
    topology("pieces")(lambda n: edges)
    with pytest.raises(UserError) as error:
        resolve({"topology": "pieces", "workers": 4})
    assert str(error.value) == (
        "topology: 'pieces' does not connect the 4 workers: there are no paths both ways "
        f"between worker 0 and worker {missing}; if that is meant, register it with "
        "@ngo.topology('name', connected=False)."
    )


def test_a_path_is_needed_in_both_directions():
    topology("out", directed=True)(lambda n: [(0, i) for i in range(1, n)])
    topology("in", directed=True)(lambda n: [(i, 0) for i in range(1, n)])
    topology("round", directed=True)(lambda n: [(i, (i + 1) % n) for i in range(n)])
    with pytest.raises(UserError, match="no paths both ways between worker 0 and worker 1;"):
        check_connected("out", 4, {})
    with pytest.raises(UserError, match="no paths both ways between worker 0 and worker 1;"):
        check_connected("in", 4, {})
    check_connected("round", 4, {})


def test_graphs_of_a_period_connect_together():
    def pairs(n, t):
        return [(0, 1), (2, 3)] if t % 2 else [(1, 2)]

    topology("in_turn", period=2)(pairs)
    check_connected("in_turn", 4, {})
    topology("repeating", period=2)(lambda n, t: pairs(n, 1))
    with pytest.raises(UserError, match="between worker 0 and worker 2; if that"):
        check_connected("repeating", 4, {})
    topology("islands", connected=False)(lambda n: [(0, 1), (2, 3)])
    check_connected("islands", 4, {})
