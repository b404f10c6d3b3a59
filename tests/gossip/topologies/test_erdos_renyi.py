import networkx as nx
import pytest
from rates import check_rate

from ngo.common.registry import UserError
from ngo.gossip.topologies.erdos_renyi import erdos_renyi
from ngo.gossip.topology import TOPOLOGIES


def test_a_seed_decides_the_graph():
    edges = [TOPOLOGIES["erdos_renyi"].edges(10, u=0.3, seed=seed) for seed in (0, 0, 1)]
    assert edges[0] == edges[1] != edges[2]


def test_every_draw_is_connected():
    """Of 8 workers with 7 edges in the mean, most graphs are not."""
    assert all(nx.is_connected(erdos_renyi(8, 0.25, seed)) for seed in range(20))


def test_the_mean_degree_of_a_dense_graph():
    """Hardly any draw is not connected."""
    edges = sum(erdos_renyi(100, 0.4, seed).number_of_edges() for seed in range(120))
    check_rate(edges, 120 * 4950, 0.4)


def test_certain_edges():
    assert nx.utils.graphs_equal(erdos_renyi(5, 1.0, 0), nx.complete_graph(5))


def test_a_graph_with_too_few_edges_is_refused():
    message = "none of 1000 draws of 'erdos_renyi' is connected; it needs more edges"
    with pytest.raises(UserError, match=message):
        erdos_renyi(5, 1e-9, 0)
