import networkx as nx
import pytest
from rates import check_rate

from ngo.common.registry import UserError
from ngo.gossip.topologies.small_world import small_world
from ngo.gossip.topology import TOPOLOGIES


def test_without_rewiring_it_is_a_ring_of_near_neighbours():
    edges = {(min(i, j), max(i, j)) for i in range(9) for j in ((i + 1) % 9, (i + 2) % 9)}
    assert set(TOPOLOGIES["small_world"].edges(9, near=4, rewired=0.0, seed=0)) == edges


@pytest.mark.parametrize("rewired", [0.3, 1.0])
def test_rewiring_keeps_the_number_of_edges_and_the_graph_connected(rewired):
    for seed in range(5):
        graph = small_world(10, 4, rewired, seed)
        assert graph.number_of_edges() == 20
        assert nx.is_connected(graph)


def test_a_seed_decides_the_graph():
    values = {"near": 4, "rewired": 0.5}
    edges = [TOPOLOGIES["small_world"].edges(10, seed=seed, **values) for seed in (0, 0, 1)]
    assert edges[0] == edges[1] != edges[2]


@pytest.mark.parametrize(("n", "near"), [(6, 3), (4, 4)])
def test_neighbours_that_are_not_there_are_refused(n, near):
    with pytest.raises(UserError, match=f"near: {near} is not possible for {n} workers"):
        TOPOLOGIES["small_world"].check_values(n, near=near)


def test_edges_are_rewired_at_their_rate():
    """The ring's edges that are gone: hardly any is drawn again among 10,000 workers."""
    n = 10_000
    edges = TOPOLOGIES["small_world"].edges(n, near=4, rewired=0.9, seed=0)
    kept = sum((j - i) % n in (1, 2, n - 1, n - 2) for i, j in edges)
    check_rate(2 * n - kept, 2 * n, 0.9, sees=0.015)
