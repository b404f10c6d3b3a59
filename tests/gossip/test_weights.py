import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import WEIGHT_RULES, mixing_matrix
from ngo.gossip.topologies.varying import random_graph


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


@settings(deadline=None, max_examples=60)
@given(n=st.integers(2, 20), u=st.floats(0.01, 1), seed=st.integers(0, 2**32))
def test_every_random_mixing_matrix_is_doubly_stochastic(n, u, seed):
    graph = random_graph(n, u, torch_stream(seed, "test"))
    W = mixing_matrix(graph)
    assert_doubly_stochastic(W)
    for worker in nx.isolates(graph):
        assert W[worker, worker] == 1
    assert ((W != 0).sum() - (W.diagonal() != 0).sum()) == 2 * graph.number_of_edges()


def matrix(rule, n, edges):
    return WEIGHT_RULES[rule](n, np.array(edges, np.int64).reshape(-1, 2)).dense()


@settings(deadline=None, max_examples=50)
@given(n=st.integers(2, 20), u=st.floats(0.01, 1), seed=st.integers(0, 2**32))
def test_uniform_weights_are_those_of_the_graph_laplacian(n, u, seed):
    """W = I − L/(1 + Δ) is symmetric, doubly stochastic and not negative."""
    graph = random_graph(n, u, torch_stream(seed, "test"))
    W = matrix("uniform", n, list(graph.edges))
    largest = max(degree for _, degree in graph.degree)
    L = torch.from_numpy(nx.laplacian_matrix(graph, nodelist=range(n)).toarray()).double()
    assert torch.allclose(W, torch.eye(n, dtype=torch.float64) - L / (1 + largest), atol=1e-14)
    assert (W >= 0).all()
