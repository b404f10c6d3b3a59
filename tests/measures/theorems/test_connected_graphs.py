import pytest
import torch

from ngo.common.registry import UserError
from ngo.gossip.theory import algebraic_connectivity
from ngo.measures.theorems.connected_graphs import connected_graphs


def test_equal_graphs_are_listed_once_and_all_are_connected():
    found = list(connected_graphs(["ring", "random", "complete"], [2, 5], 0.4, seed=0))
    assert [n for _, n, _ in found].count(2) == 1  # all topologies of two workers are the same
    assert {"ring", "complete"} <= {name for name, _, _ in found}
    assert all(algebraic_connectivity(W) > 1e-9 for _, _, W in found)
    again = list(connected_graphs(["ring", "random", "complete"], [2, 5], 0.4, seed=0))
    assert all(torch.equal(a[2], b[2]) for a, b in zip(found, again, strict=True))


def test_a_random_graph_that_is_never_connected_is_an_error():
    with pytest.raises(UserError, match="u: 1e-09 gave no connected random graph of 5 workers in"):
        list(connected_graphs(["random"], [5], 1e-9, seed=0))
