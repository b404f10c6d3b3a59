import math

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ngo import graphs
from ngo.registry import UserError
from ngo.seeding import torch_stream


def assert_doubly_stochastic(W: torch.Tensor) -> None:
    assert W.dtype == torch.float64
    assert torch.equal(W, W.T)
    assert (W >= 0).all()
    assert torch.allclose(W.sum(0), torch.ones(len(W), dtype=W.dtype), atol=1e-14)
    assert torch.allclose(W.sum(1), torch.ones(len(W), dtype=W.dtype), atol=1e-14)


@pytest.mark.parametrize("n", [3, 4, 5, 16, 36, 64])
def test_ring_weights_are_a_third(n):
    W = graphs.mixing_matrix(graphs.ring(n))
    assert_doubly_stochastic(W)
    for i in range(n):
        row = {j: float(W[i, j]) for j in range(n) if W[i, j] != 0}
        assert row == pytest.approx({(i - 1) % n: 1 / 3, i: 1 / 3, (i + 1) % n: 1 / 3})


@pytest.mark.parametrize("n", [2, 3, 10, 64])
def test_complete_weights_average_exactly(n):
    W = graphs.mixing_matrix(graphs.complete(n))
    assert_doubly_stochastic(W)
    assert torch.allclose(W, torch.full((n, n), 1 / n, dtype=torch.float64), atol=1e-15)


@pytest.fixture
def own_topology(monkeypatch):
    """A topology of edges given, under the name "own", for one test."""
    monkeypatch.setattr(graphs, "TOPOLOGIES", type(graphs.TOPOLOGIES)("topology"))
    return lambda edges: graphs.topology("own")(lambda n: edges)


def test_an_edge_counts_once_however_often_it_is_returned(own_topology):
    """Twice, in both directions, or to the worker itself: of a path on three workers, the degrees
    are 1, 2, 1.
    """
    graph = own_topology([(1, 0), (0, 1), (0, 1), (1, 2), (2, 2)])(3)
    assert graphs.TOPOLOGIES["own"].edges(3) == [(0, 1), (1, 2)]
    assert sorted(graph.edges) == [(0, 1), (1, 2)]
    stream = graphs.mixing_stream("own", 3, None, None)
    assert torch.equal(next(stream), graphs.mixing_matrix(nx.path_graph(3)))


def test_edges_may_come_one_by_one(own_topology):
    assert sorted(own_topology((i, i + 1) for i in range(2))(3).edges) == [(0, 1), (1, 2)]


@pytest.mark.parametrize("edge", [(0, 3), (-1, 0)])
def test_an_edge_to_a_worker_that_is_not_there_is_named(own_topology, edge):
    graph = own_topology([(0, 1), edge])
    message = rf"topology: 'own' has an edge \({edge[0]}, {edge[1]}\) on 3 workers; they are 0 to 2"
    with pytest.raises(UserError, match=message):
        graphs.TOPOLOGIES["own"].edges(3)
    with pytest.raises(UserError, match=message):
        graph(3)


def test_two_workers_on_a_ring_share_one_edge():
    assert list(graphs.ring(2).edges) == [(0, 1)]
    assert graphs.mixing_matrix(graphs.ring(2)).tolist() == [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize(("n", "printed"), [(4, "0.67"), (16, "0.05"), (36, "0.01"), (64, "0.003")])
def test_ring_gaps_are_those_of_table_s1(n, printed):
    gap = graphs.spectral_gap(graphs.mixing_matrix(graphs.ring(n)))
    assert gap == pytest.approx(2 / 3 * (1 - math.cos(2 * math.pi / n)))
    assert f"{gap:.{len(printed) - 2}f}" == printed


@pytest.mark.parametrize("n", [4, 16, 36, 64])
def test_complete_gap_is_one(n):
    assert graphs.spectral_gap(graphs.mixing_matrix(graphs.complete(n))) == pytest.approx(1)


def test_gap_takes_the_negative_end_of_the_spectrum():
    W = torch.tensor([[0.1, 0.9], [0.9, 0.1]])  # eigenvalues 1 and −0.8
    assert graphs.spectral_gap(W) == pytest.approx(0.2)


def test_metropolis_takes_the_larger_degree():
    star = graphs.mixing_matrix(nx.star_graph(4))  # centre of degree 4, leaves of degree 1
    assert star[0, 1:].tolist() == pytest.approx([1 / 5] * 4)
    assert star.diagonal().tolist() == pytest.approx([1 / 5] + [4 / 5] * 4)


@settings(deadline=None, max_examples=200)
@given(n=st.integers(2, 20), u=st.floats(0.01, 1), seed=st.integers(0, 2**32))
def test_every_random_mixing_matrix_is_doubly_stochastic(n, u, seed):
    graph = graphs.random_graph(n, u, torch_stream(seed, "test"))
    W = graphs.mixing_matrix(graph)
    assert_doubly_stochastic(W)
    for worker in nx.isolates(graph):
        assert W[worker, worker] == 1
    assert ((W != 0).sum() - (W.diagonal() != 0).sum()) == 2 * graph.number_of_edges()


def test_without_a_worker_the_weights_are_those_of_the_rest():
    """A ring that loses worker 2 is the path 3 – 4 – 0 – 1."""
    W = graphs.without(graphs.mixing_matrix(graphs.ring(5)), {2})
    assert_doubly_stochastic(W)
    assert W[2, 2] == 1
    rest = [3, 4, 0, 1]
    assert torch.equal(W[rest][:, rest], graphs.mixing_matrix(nx.path_graph(4)))


def test_random_graph_with_certain_edges_is_complete():
    graph = graphs.random_graph(7, 1.0, torch_stream(0, "test"))
    assert nx.utils.graphs_equal(graph, graphs.complete(7))


def test_random_graphs_have_mean_degree_u_times_n_minus_1():
    generator = torch_stream(0, "test")
    edges = [graphs.random_graph(10, 0.4, generator).number_of_edges() for _ in range(2000)]
    # The mean of 2,000 binomials(45, 0.4) has standard deviation 0.073; 5 of them.
    assert sum(edges) / len(edges) == pytest.approx(45 * 0.4, abs=0.37)


def test_laplacian_and_connectivity_of_known_graphs():
    W = graphs.mixing_matrix(graphs.ring(10))
    L = graphs.laplacian(W)
    assert torch.allclose(L.sum(1), torch.zeros(10, dtype=torch.float64), atol=1e-15)
    # λ₂ of a cycle of edges of weight 1/3.
    assert graphs.algebraic_connectivity(W) == pytest.approx(
        2 / 3 * (1 - math.cos(2 * math.pi / 10))
    )
    assert graphs.algebraic_connectivity(torch.eye(3)) == pytest.approx(0)


def test_mixing_streams():
    ring = graphs.mixing_stream("ring", 5, None, torch_stream(0, "graphs"))
    assert torch.equal(next(ring), next(ring))
    first, second = (
        [next(stream) for _ in range(5)]
        for stream in (
            graphs.mixing_stream("random", 8, 0.4, torch_stream(3, "graphs")) for _ in "ab"
        )
    )
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert not torch.equal(first[0], first[1])


def test_a_topology_is_registered_by_its_edges_alone(monkeypatch):
    monkeypatch.setattr(graphs, "TOPOLOGIES", type(graphs.TOPOLOGIES)("topology"))

    @graphs.topology("path")
    def path(n):
        return [(i, i + 1) for i in range(n - 1)]

    assert nx.utils.graphs_equal(path(4), nx.path_graph(4))
    W = next(graphs.mixing_stream("path", 4, None, torch_stream(0, "graphs")))
    assert torch.equal(W, graphs.mixing_matrix(nx.path_graph(4)))


def test_mistakes():
    with pytest.raises(UserError, match=r"topology: 'rign' is unknown.*Did you mean 'ring'"):
        graphs.TOPOLOGIES["rign"]
    with pytest.raises(ValueError, match="2 workers or more"):
        graphs.ring(1)
    with pytest.raises(ValueError, match="probability"):
        graphs.random_graph(4, 0.0, torch_stream(0, "test"))
    with pytest.raises(ValueError, match="directed"):
        graphs.mixing_matrix(nx.DiGraph([(0, 1)]))
