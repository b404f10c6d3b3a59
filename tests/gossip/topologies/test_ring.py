import math

import pytest

from ngo.gossip.spectrum import spectral_gap
from ngo.gossip.topologies.ring import ring
from ngo.gossip.weights import mixing_matrix


@pytest.mark.parametrize("n", [3, 4, 5, 16, 36, 64])
def test_ring_weights_are_a_third(n):
    W = mixing_matrix(ring(n))
    for i in range(n):
        row = {j: float(W[i, j]) for j in range(n) if W[i, j] != 0}
        assert row == pytest.approx({(i - 1) % n: 1 / 3, i: 1 / 3, (i + 1) % n: 1 / 3})


def test_two_workers_on_a_ring_share_one_edge():
    assert list(ring(2).edges) == [(0, 1)]
    assert mixing_matrix(ring(2)).tolist() == [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize(("n", "printed"), [(4, "0.67"), (16, "0.05"), (36, "0.01"), (64, "0.003")])
def test_ring_gaps_are_those_of_table_s1(n, printed):
    gap = spectral_gap(mixing_matrix(ring(n)))
    assert gap == pytest.approx(2 / 3 * (1 - math.cos(2 * math.pi / n)))
    assert f"{gap:.{len(printed) - 2}f}" == printed
