"""Graphs that are drawn, once or in each step: their rates, and that a seed decides them."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest
import torch
from rates import check_rate, check_uniform

from ngo.common.seeding import torch_stream
from ngo.gossip.topologies import static as drawn_graph
from ngo.gossip.topologies.static import connected, erdos_renyi, random_regular, small_world
from ngo.gossip.topology import TOPOLOGIES
from ngo.training.spec_checks import resolve
from verdicts.registry import UserError


def draws(name, n, count, **values):
    stream = torch_stream(0, "graphs")
    return [TOPOLOGIES[name].edges(n, generator=stream, **values) for _ in range(count)]


def test_a_graph_that_is_never_connected_is_refused(monkeypatch):
    monkeypatch.setattr(drawn_graph, "DRAWS", 7)
    asked = []
    with pytest.raises(UserError, match="topology: none of 7 draws of 'own' is connected"):
        connected("own", 0, lambda source: asked.append(1) or nx.empty_graph(3))
    assert len(asked) == 7
    with pytest.raises(UserError, match="none of 7 draws of 'erdos_renyi' is connected; it needs"):
        erdos_renyi(5, 1e-9, 0)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("erdos_renyi", {"u": 0.3}),
        ("random_regular", {"degree": 3}),
        ("small_world", {"near": 4, "rewired": 0.5}),
    ],
)
def test_a_seed_decides_the_graph(name, values):
    edges = [TOPOLOGIES[name].edges(10, seed=seed, **values) for seed in (0, 0, 1)]
    assert edges[0] == edges[1] != edges[2]


def test_every_erdos_renyi_graph_is_connected_and_has_edges_at_their_rate():
    """Of 8 workers with 7 edges in the mean, most draws are not; of 100, hardly any."""
    assert all(nx.is_connected(erdos_renyi(8, 0.25, seed)) for seed in range(20))
    edges = sum(erdos_renyi(100, 0.4, seed).number_of_edges() for seed in range(30))
    check_rate(edges, 30 * 4950, 0.4, sees=0.02)


@pytest.mark.parametrize("n", [200, 400])  # drawn for each pair, and by edges
def test_random_graphs_have_edges_at_their_rate(n):
    generator = torch_stream(0, "test")
    pairs = TOPOLOGIES["random"].pairs
    edges = sum(len(pairs(n, u=0.6, generator=generator)) for _ in range(25))
    check_rate(edges, 25 * n * (n - 1) // 2, 0.6)


def test_each_pair_of_many_workers_is_an_edge_equally_often():
    generator, n = torch_stream(0, "test"), 300
    actual = torch.zeros(n, n)
    for _ in range(200):
        i, j = TOPOLOGIES["random"].pairs(n, u=0.05, generator=generator).T
        assert (i < j).all()
        actual[i, j] += 1
    counts = actual[torch.ones(n, n).triu(1).bool()]
    assert float(counts.mean()) == pytest.approx(10, rel=0.01)
    assert float(counts.var()) == pytest.approx(9.5, rel=0.02)  # of a binomial distribution
    by_first = (actual.sum(1) / torch.arange(n - 1, -1, -1))[: n // 2]
    assert (by_first - 10).abs().max() < 1.5
    assert len(TOPOLOGIES["random"].pairs(n, u=1.0, generator=generator)) == n * (n - 1) // 2


@pytest.mark.parametrize(("n", "degree"), [(2, 1), (7, 2), (6, 5)])
def test_a_regular_graph_has_the_degree_and_is_connected(n, degree):
    graph = random_regular(n, degree, 0)
    assert {count for _, count in graph.degree} == {degree}
    assert nx.is_connected(graph)


@pytest.mark.parametrize("rewired", [0.3, 1.0])
def test_rewiring_keeps_the_number_of_edges_and_the_graph_connected(rewired):
    ring = {(min(i, j), max(i, j)) for i in range(9) for j in ((i + 1) % 9, (i + 2) % 9)}
    assert set(TOPOLOGIES["small_world"].edges(9, near=4, rewired=0.0, seed=0)) == ring
    for seed in range(5):
        graph = small_world(10, 4, rewired, seed)
        assert graph.number_of_edges() == 20
        assert nx.is_connected(graph)


def test_random_matchings_are_uniform_and_leave_one_of_an_odd_number_alone():
    """Four workers have three perfect matchings, six have fifteen."""
    for n, count in ((4, 3), (6, 15)):
        drawn = Counter(tuple(sorted(edges)) for edges in draws("random_matching", n, 2000))
        assert len(drawn) == count
        check_uniform(list(drawn.values()))
    for edges in draws("random_matching", 7, 20):
        met = [worker for edge in edges for worker in edge]
        assert len(met) == len(set(met)) == 6


@pytest.mark.parametrize(("n", "receivers"), [(5, 1), (6, 5), (96, 7)])
def test_each_worker_sends_to_so_many_others(n, receivers):
    for edges in draws("epidemic_out", n, 5, receivers=receivers):
        assert len(set(edges)) == n * receivers
        assert all(i != j for i, j in edges)
        assert [i for i, _ in edges].count(0) == receivers


def test_all_sets_of_receivers_are_equally_likely():
    """Each worker's, and not only each receiver: ten sets of two out of five others."""
    actual = draws("epidemic_out", 6, 1500, receivers=2)
    counts = Counter(
        (i, tuple(j for a, j in edges if a == i)) for edges in actual for i in range(6)
    )
    assert len(counts) == 60
    assert max(abs(count / 150 - 1) for count in counts.values()) < 0.35


@pytest.mark.parametrize(("n", "degree"), [(10, 1), (7, 2), (96, 7)])
def test_a_regular_graph_in_each_step(n, degree):
    actual = draws("epidemic_regular", n, 5, degree=degree)
    for edges in actual:
        assert (np.bincount(np.array(edges).flatten(), minlength=n) == degree).all()
    assert len({tuple(edges) for edges in actual}) == 5


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"topology": "random_regular", "degree": 6}, "degree: 6 is not possible for 6 workers"),
        ({"topology": "random_regular", "degree": 1}, "degree: 1 is not possible for 6 workers"),
        ({"topology": "small_world", "near": 3}, "near: 3 is not possible for 6 workers"),
        ({"topology": "small_world", "near": 6}, "near: 6 is not possible for 6 workers"),
        ({"topology": "epidemic_out", "receivers": 6}, "receivers: 6 .*; at most 5"),
        ({"topology": "epidemic_regular", "degree": 6}, "degree: 6 .* must be below 6"),
        ({"topology": "epidemic_regular", "degree": 2, "method": "ngo", "coupling": "implicit"},
         "at most one neighbour of each worker"),
    ],
)  # fmt: skip
def test_values_without_a_graph_are_refused(values, message):
    method = "epidemic" if "epidemic" in values["topology"] else "ngo"
    with pytest.raises(UserError, match=message):
        resolve({"method": method, "workers": 6, **values})
