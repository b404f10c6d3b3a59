import networkx as nx
import pytest
from rates import check_rate

from ngo.common.seeding import torch_stream
from ngo.gossip.topologies.complete import complete
from ngo.gossip.topologies.random import random_graph


def test_random_graph_with_certain_edges_is_complete():
    graph = random_graph(7, 1.0, torch_stream(0, "test"))
    assert nx.utils.graphs_equal(graph, complete(7))


def test_random_graphs_have_mean_degree_u_times_n_minus_1():
    generator = torch_stream(0, "test")
    edges = sum(random_graph(200, 0.6, generator).number_of_edges() for _ in range(25))
    check_rate(edges, 25 * 19_900, 0.6)


@pytest.mark.parametrize("u", [0.0, 1.1])
def test_a_probability_is_above_0_and_at_most_1(u):
    with pytest.raises(ValueError, match="probability"):
        random_graph(4, u, torch_stream(0, "test"))
