import networkx as nx
import pytest

from ngo.common.seeding import torch_stream
from ngo.gossip.topologies.complete import complete
from ngo.gossip.topologies.random import random_graph


def test_random_graph_with_certain_edges_is_complete():
    graph = random_graph(7, 1.0, torch_stream(0, "test"))
    assert nx.utils.graphs_equal(graph, complete(7))


def test_random_graphs_have_mean_degree_u_times_n_minus_1():
    generator = torch_stream(0, "test")
    edges = [random_graph(10, 0.4, generator).number_of_edges() for _ in range(2000)]
    # The mean of 2,000 binomials(45, 0.4) has standard deviation 0.073; 5 of them.
    assert sum(edges) / len(edges) == pytest.approx(45 * 0.4, abs=0.37)


@pytest.mark.parametrize("u", [0.0, 1.1])
def test_a_probability_is_above_0_and_at_most_1(u):
    with pytest.raises(ValueError, match="probability"):
        random_graph(4, u, torch_stream(0, "test"))
