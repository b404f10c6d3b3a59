from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from ngo.gossip.topologies.d_cliques import d_cliques


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
