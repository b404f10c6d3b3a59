"""The predicted floor of V."""

import pytest
from made_up import exponents, rates

from ngo.analysis.chatter import chatter_floor


def test_each_p_has_its_own_floor():
    """On an even ring, V = nd/4 · (2γw)^(1/(1−p)), w = 1/3."""
    floor = chatter_floor(exponents().query("p < 1")).set_index(["p", "gamma"])["mean"]
    for p, gamma in floor.index:
        assert floor[p, gamma] == pytest.approx(250 * (2 * gamma / 3) ** (1 / (1 - p)), rel=1e-6)
    assert len(floor) == 4


def test_a_random_topology_and_linear_coupling_have_no_floor():
    assert chatter_floor(rates().assign(topology="random")).empty
    assert chatter_floor(exponents().query("p == 1")).empty
