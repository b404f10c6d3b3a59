"""Graphs that are built for finite-time consensus, for cliques, and of equal degree."""

import math
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip.topologies.equi import mean_shift
from ngo.gossip.topologies.static import d_cliques
from ngo.gossip.topology import TOPOLOGIES

BASE, HYPERCUBE = TOPOLOGIES["base_graph"], TOPOLOGIES["one_peer_hypercube"]
SIZES = [*range(2, 20), 30, 36]


def period(n, peers):
    return [BASE.matrix(n, t=t, peers=peers).dense() for t in range(BASE.period(n, peers=peers))]


@pytest.mark.parametrize("peers", [1, 2, 3, 4])
def test_a_period_is_the_mean_with_few_neighbours_in_few_steps(peers):
    """Theorem 1 of Takezawa et al. 2023: 2 log_(k+1) n + 2 steps at most."""
    for n in SIZES:
        matrices = period(n, peers)
        product = torch.eye(n, dtype=torch.float64)
        for W in matrices:
            assert ((W != 0).sum(1) <= peers + 1).all()
            product = W @ product
        assert (product - 1 / n).abs().max() < 1e-12
        assert len(matrices) <= 2 * math.log(n, peers + 1) + 2 + 1e-9


@pytest.mark.parametrize(
    ("n", "peers", "steps"), [(3, 1, 3), (5, 1, 5), (6, 1, 4), (7, 1, 5), (6, 2, 2), (7, 2, 4)]
)
def test_how_many_steps(n, peers, steps):
    """For example n = 5 = 4 + 1: two steps among 4, one link, two steps among 4 again."""
    assert BASE.period(n, peers=peers) == steps


@pytest.mark.parametrize("n", [4, 8])
def test_of_a_power_of_2_with_one_peer_it_is_the_hypercube(n):
    for t, W in enumerate(period(n, 1)):
        assert torch.equal(W, HYPERCUBE.matrix(n, t=t).dense())


@pytest.mark.parametrize(("joins", "between"), [("every_pair", 45), ("in_a_ring", 10)])
def test_ten_cliques_of_ten(joins, between):
    """The edges of the paper's 100 workers: 450 in cliques; a complete graph has 4,950."""
    graph = d_cliques(100, 10, joins)
    inside = {(i, j) for i, j in graph.edges if i // 10 == j // 10}
    assert inside == {
        edge for first in range(0, 100, 10) for edge in combinations(range(first, first + 10), 2)
    }
    outside = [(i, j) for i, j in graph.edges if (i, j) not in inside]
    assert len(outside) == between
    assert len({(i // 10, j // 10) for i, j in outside}) == between
    assert nx.is_connected(graph)
    ends = np.bincount(np.array(outside).flatten(), minlength=100)
    assert ends.max() == 1  # no worker has two edges to other cliques


def test_the_last_clique_may_be_smaller_and_edges_are_spread():
    graph = d_cliques(11, 4, "every_pair")
    assert len(graph.edges) == 6 + 6 + 3 + 3
    many = d_cliques(30, 3, "every_pair")
    assert {degree - 2 for _, degree in many.degree} == {3}


def shift(n, u):
    """A(u)."""
    return mean_shift(n, [u]).dense()


@pytest.mark.parametrize("n", [2, 5, 8])
def test_the_mean_of_all_shifts_is_the_exact_average(n):
    W = torch.stack([shift(n, u) for u in range(1, n)]).mean(0)
    assert torch.allclose(mean_shift(n, list(range(1, n))).dense(), W, atol=1e-15)
    assert torch.allclose(W, torch.full((n, n), 1 / n, dtype=torch.float64), atol=1e-15)


def test_the_static_graphs():
    """D-EquiStatic sends to M workers at most, with weights in units of (n − 1)/(nM)."""
    directed = TOPOLOGIES["d_equi_static"].matrix(10, shifts=3, seed=1).dense()
    undirected = TOPOLOGIES["u_equi_static"].matrix(10, shifts=3, seed=1).dense()
    parts = (directed - torch.eye(10, dtype=torch.float64) / 10) / 0.3
    assert torch.allclose(parts, parts.round(), atol=1e-12)
    assert (parts.sum(1) - 3).abs().max() < 1e-12
    assert torch.allclose(undirected, (directed + directed.T) / 2)


def test_the_static_graph_is_connected_even_of_one_shift():
    """Of 12 shifts, only 1, 5, 7 and 11 reach all of 12 workers."""
    for seed in range(20):
        edges = TOPOLOGIES["d_equi_static"].edges(12, shifts=1, seed=seed)
        assert {(j - i) % 12 for i, j in edges} < {1, 5, 7, 11}
        assert len(edges) == 12


def test_one_directed_peer_in_each_step():
    generator, seen = torch_stream(0, "test"), set()
    for _ in range(60):
        W = TOPOLOGIES["od_equi_dyn"].matrix(6, generator=generator).dense()
        (u,) = (u for u in range(1, 6) if torch.allclose(W, (torch.eye(6) + shift(6, u)) / 2))
        seen.add(u)
    assert seen == {1, 2, 3, 4, 5}


def test_one_undirected_peer_in_each_step():
    """Pairs are u apart, and no two workers that are u apart are both alone."""
    generator = torch_stream(0, "test")
    for _ in range(30):
        W = TOPOLOGIES["ou_equi_dyn"].matrix(9, generator=generator).dense()
        edges = W.triu(1).nonzero().tolist()
        apart = {min(j - i, 9 - j + i) for i, j in edges}
        assert len(apart) == 1
        (u,) = apart
        alone = set(range(9)) - {worker for edge in edges for worker in edge}
        assert not any((i + u) % 9 in alone for i in alone)
        assert torch.allclose(W[W.triu(1) != 0], torch.tensor(8 / 18, dtype=torch.float64))
