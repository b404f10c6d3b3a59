"""Stability against γ, and the predicted floor of V."""

import pytest
from made_up import SEEDS, exponents, rates

from ngo.analysis.stability import chatter_floor, stability
from ngo.gossip.bounds import chatter_V
from ngo.gossip.topologies.ring import ring
from ngo.gossip.weights import mixing_matrix
from ngo.native.pool import one_intra_op_thread


def test_runs_are_compared_at_the_gamma_that_all_topologies_share():
    found = stability(rates())
    assert found.shared == [0.1]
    assert found.swept == "ring"
    assert len(found.runs) == 2 * 4 * len(SEEDS)
    assert found.runs["at_shared"].sum() == 2 * 3 * len(SEEDS)
    assert sorted(found.by_gamma["gamma"].unique()) == [0.1, 0.5]


def test_the_floor_is_that_of_the_largest_two_cycle():
    floor = stability(rates()).floor.set_index("gamma")["mean"]
    with one_intra_op_thread():
        predicted = chatter_V(0.5, mixing_matrix(ring(10)), 0.9, 100)
    assert floor.index.tolist() == [0.1, 0.5]
    assert floor[0.5] == pytest.approx(predicted)


def test_each_p_has_its_own_floor():
    """On an even ring, V = nd/4 · (2γw)^(1/(1−p)), w = 1/3."""
    floor = chatter_floor(exponents().query("p < 1")).set_index(["p", "gamma"])["mean"]
    for p, gamma in floor.index:
        assert floor[p, gamma] == pytest.approx(250 * (2 * gamma / 3) ** (1 / (1 - p)), rel=1e-6)
    assert len(floor) == 4


def test_a_random_topology_and_linear_coupling_have_no_floor():
    assert chatter_floor(rates().assign(topology="random")).empty
    assert chatter_floor(exponents().query("p == 1")).empty
