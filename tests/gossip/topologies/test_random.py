import networkx as nx
import pytest
import torch
from rates import check_rate

from ngo.common.seeding import torch_stream
from ngo.gossip.topologies.complete import complete
from ngo.gossip.topologies.random import random_graph
from ngo.gossip.topology import TOPOLOGIES


def test_random_graph_with_certain_edges_is_complete():
    graph = random_graph(7, 1.0, torch_stream(0, "test"))
    assert nx.utils.graphs_equal(graph, complete(7))


@pytest.mark.parametrize("n", [200, 400])  # drawn for each pair, and by edges
def test_random_graphs_have_mean_degree_u_times_n_minus_1(n):
    generator = torch_stream(0, "test")
    edges = sum(random_graph(n, 0.6, generator).number_of_edges() for _ in range(25))
    check_rate(edges, 25 * n * (n - 1) // 2, 0.6)


def test_each_pair_of_many_workers_is_an_edge_equally_often():
    generator, n = torch_stream(0, "test"), 300
    found = torch.zeros(n, n)
    for _ in range(200):
        i, j = torch.tensor(TOPOLOGIES["random"].edges(n, u=0.05, generator=generator)).T
        assert (i < j).all()
        found[i, j] += 1
    counts = found[torch.ones(n, n).triu(1).bool()]
    assert float(counts.mean()) == pytest.approx(10, rel=0.01)
    assert float(counts.var()) == pytest.approx(9.5, rel=0.02)  # of a binomial distribution
    by_first = (found.sum(1) / torch.arange(n - 1, -1, -1))[: n // 2]
    assert (by_first - 10).abs().max() < 1.5
    whole = TOPOLOGIES["random"].pairs(n, u=1.0, generator=generator)
    assert len(whole) == n * (n - 1) // 2


@pytest.mark.parametrize("n", [10, 256])
def test_up_to_256_workers_have_a_draw_for_each_pair(n):
    source, reference = torch_stream(0, "test"), torch_stream(0, "test")
    for _ in range(3):
        found = TOPOLOGIES["random"].pairs(n, u=0.4, generator=source)
        drawn = torch.rand(n * (n - 1) // 2, generator=reference, dtype=torch.float64) < 0.4
        i, j = torch.triu_indices(n, n, 1)
        assert found.tolist() == torch.stack([i[drawn], j[drawn]], 1).tolist()


@pytest.mark.parametrize("u", [0.0, 1.1])
def test_a_probability_is_above_0_and_at_most_1(u):
    with pytest.raises(ValueError, match="probability"):
        random_graph(4, u, torch_stream(0, "test"))
