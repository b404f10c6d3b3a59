from dataclasses import replace

import pytest
import torch
from small_theory import OPTIONS

from ngo.common.registry import UserError
from ngo.gossip.consensus import synchronization_index
from ngo.gossip.spectrum import algebraic_connectivity
from ngo.theorems.graphs import graph, graphs, sgd_graph, states, unit_spread


def test_equal_graphs_are_listed_once_and_all_are_connected():
    found = list(graphs(OPTIONS))
    assert [n for _, n, _ in found].count(2) == 1  # all topologies of two workers are the same
    assert {"ring", "complete"} <= {name for name, _, _ in found}
    assert all(algebraic_connectivity(W) > 1e-9 for _, _, W in found)
    again = list(graphs(OPTIONS))
    assert all(torch.equal(a[2], b[2]) for a, b in zip(found, again, strict=True))
    assert {n for _, n, _ in graphs(OPTIONS, workers=[7])} == {7}


def test_a_random_graph_that_is_never_connected_is_an_error():
    with pytest.raises(UserError, match="u: 1e-09 gave no connected random graph of 5 workers in"):
        graph("random", 5, 1e-9, seed=0)


def test_the_graph_of_sgd_has_its_topology():
    options = replace(OPTIONS, sgd_topology="complete")
    assert torch.allclose(sgd_graph(options), torch.full((5, 5), 0.2).double())
    assert len(sgd_graph(options, 8)) == 8


def test_states_continue_a_stream():
    one, two = states(3, 2, 0, "a", None)
    assert one.shape == (3, 1)
    assert not torch.equal(one, two)
    assert torch.equal(one, states(3, 1, 0, "a", None)[0])


def test_a_start_of_unit_spread_has_v_equal_to_n():
    X = unit_spread(5, torch.Generator().manual_seed(0))
    assert float(X.sum()) == pytest.approx(0, abs=1e-12)
    assert float(synchronization_index(X)) == pytest.approx(5)
