import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ngo.common.seeding import torch_stream
from ngo.gossip.topologies.static import ring
from ngo.gossip.topologies.varying import random_graph
from ngo.gossip.weights import (
    checked_matrix,
    metropolis_hastings,
    mixing_matrix,
    outgoing_shares,
    uniform_weights,
    without_workers,
)


def assert_doubly_stochastic(W: torch.Tensor) -> None:
    assert W.dtype == torch.float64
    assert torch.equal(W, W.T)
    assert (W >= 0).all()
    assert torch.allclose(W.sum(0), torch.ones(len(W), dtype=W.dtype), atol=1e-14)
    assert torch.allclose(W.sum(1), torch.ones(len(W), dtype=W.dtype), atol=1e-14)


def test_metropolis_takes_the_larger_degree():
    star = mixing_matrix(nx.star_graph(4))  # centre of degree 4, leaves of degree 1
    assert star[0, 1:].tolist() == pytest.approx([1 / 5] * 4)
    assert star.diagonal().tolist() == pytest.approx([1 / 5] + [4 / 5] * 4)


@settings(deadline=None, max_examples=200)
@given(n=st.integers(2, 20), u=st.floats(0.01, 1), seed=st.integers(0, 2**32))
def test_every_random_mixing_matrix_is_doubly_stochastic(n, u, seed):
    graph = random_graph(n, u, torch_stream(seed, "test"))
    W = mixing_matrix(graph)
    assert_doubly_stochastic(W)
    for worker in nx.isolates(graph):
        assert W[worker, worker] == 1
    assert ((W != 0).sum() - (W.diagonal() != 0).sum()) == 2 * graph.number_of_edges()


@settings(deadline=None, max_examples=50)
@given(n=st.integers(2, 12), u=st.floats(0.05, 1), seed=st.integers(0, 1000))
def test_directed_weights_are_column_stochastic(n, u, seed):
    """Each worker keeps as much as it sends along each edge."""
    drawn = torch.rand(n, n, generator=torch_stream(seed, "test")) < u
    edges = [(i, j) for i, j in drawn.nonzero().tolist() if i != j]
    W = outgoing_shares(n, edges).dense()
    assert W.dtype == torch.float64
    assert torch.allclose(W.sum(0), torch.ones(n, dtype=torch.float64), atol=1e-14)
    for j in range(n):
        receivers = {i for i in range(n) if W[i, j] != 0}
        assert receivers == {j} | {b for a, b in edges if a == j}
        assert W[:, j].max() == W[j, j]


def test_a_checked_matrix_may_be_off_by_rounding():
    W = torch.full((3, 3), 1 / 3)  # float32: columns sum to 1 + 3e-8, which is too much
    W = W.double() / W.double().sum(0)
    assert torch.equal(checked_matrix("own", W, 3, directed=False).dense(), W)
    assert torch.equal(checked_matrix("own", W.numpy(), 3, directed=False).dense(), W)


def test_without_a_worker_the_weights_are_those_of_the_rest():
    """A ring that loses worker 2 is the path 3 – 4 – 0 – 1."""
    W = without_workers(mixing_matrix(ring(5)), {2}, metropolis_hastings).dense()
    assert_doubly_stochastic(W)
    assert W[2, 2] == 1
    rest = [3, 4, 0, 1]
    assert torch.equal(W[rest][:, rest], mixing_matrix(nx.path_graph(4)))


def test_without_a_worker_uniform_weights_are_those_of_the_largest_degree_left():
    """Without its centre's neighbour 3, the star of degree 4 has the degree 3."""
    W = without_workers(uniform_weights(5, [(0, i) for i in range(1, 5)]), {3}, uniform_weights)
    assert W.pairs[2].tolist() == [1 / 4] * 3
    assert_doubly_stochastic(W.dense())


def test_a_directed_graph_has_no_symmetric_weights():
    with pytest.raises(ValueError, match="directed"):
        mixing_matrix(nx.DiGraph([(0, 1)]))
