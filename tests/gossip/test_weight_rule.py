from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import WEIGHT_RULES
from ngo.gossip.topologies.varying import random_graph
from ngo.gossip.topology import TOPOLOGIES, Mixing

KITE = [(0, 1), (0, 2), (0, 3), (3, 4)]  # degrees 3, 1, 1, 2, 1


def matrix(rule, n, edges):
    return WEIGHT_RULES[rule](n, np.array(edges, np.int64).reshape(-1, 2)).dense()


def test_the_weights_of_a_small_graph():
    W = {rule: matrix(rule, 5, KITE) for rule in WEIGHT_RULES}
    assert W["metropolis"][0, 1:4].tolist() == [1 / 4] * 3
    assert W["metropolis"][3, 4] == 1 / 3
    assert {float(W["uniform"][edge]) for edge in KITE} == {1 / 4}
    assert W["uniform"].diagonal().tolist() == [1 / 4, 3 / 4, 3 / 4, 1 / 2, 3 / 4]


@pytest.mark.parametrize("name", ["ring", "complete", "torus", "hypercube", "exponential"])
def test_on_regular_graphs_all_rules_agree(name):
    metropolis, uniform = (
        TOPOLOGIES[name].matrix(16, weights=rule).dense() for rule in ("metropolis", "uniform")
    )
    assert torch.equal(metropolis, uniform)


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


def test_the_weights_of_each_step_are_those_of_its_graph():
    fields = {rule: SimpleNamespace(u=0.4, weights=rule) for rule in WEIGHT_RULES}
    drawn = {rule: Mixing("random", 10, fields[rule], torch_stream(0, "graphs")) for rule in fields}
    for t in range(20):
        metropolis, uniform = (drawn[rule].at(t) for rule in ("metropolis", "uniform"))
        assert torch.equal(metropolis.senders, uniform.senders)
        assert len(set(uniform.weights.tolist())) == 1
        assert uniform.weights.min() == metropolis.weights.min()
