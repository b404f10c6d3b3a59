import networkx as nx
import pytest

from ngo.common.registry import UserError
from ngo.gossip.topologies.random_regular import random_regular
from ngo.gossip.topology import TOPOLOGIES


@pytest.mark.parametrize(("n", "degree"), [(2, 1), (7, 2), (10, 3), (6, 5)])
def test_every_worker_has_the_degree_and_the_graph_is_connected(n, degree):
    graph = random_regular(n, degree, 0)
    assert {count for _, count in graph.degree} == {degree}
    assert nx.is_connected(graph)


def test_a_seed_decides_the_graph():
    edges = [TOPOLOGIES["random_regular"].edges(10, degree=3, seed=seed) for seed in (0, 0, 1)]
    assert edges[0] == edges[1] != edges[2]


@pytest.mark.parametrize(("n", "degree"), [(4, 4), (7, 3), (6, 1)])
def test_an_impossible_degree_is_refused(n, degree):
    with pytest.raises(UserError, match=f"degree: {degree} is not possible for {n} workers"):
        TOPOLOGIES["random_regular"].check_values(n, degree=degree)
