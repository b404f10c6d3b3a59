import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import WEIGHT_RULES, mixing_matrix
from ngo.gossip.topologies.varying import random_graph


def test_metropolis_takes_the_larger_degree():
    star = mixing_matrix(nx.star_graph(4))  # centre of degree 4, leaves of degree 1
    assert star[0, 1:].tolist() == pytest.approx([1 / 5] * 4)
    assert star.diagonal().tolist() == pytest.approx([1 / 5] + [4 / 5] * 4)


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
