import math

import pytest
import torch

from ngo.gossip.spectrum import spectral_gap
from ngo.gossip.topology import TOPOLOGIES

RING = TOPOLOGIES["directed_ring"]


def test_a_worker_receives_from_the_one_before_it():
    half = torch.tensor([0.5, 0.5], dtype=torch.float64)
    W = RING.matrix(5).dense()
    for i in range(5):
        assert torch.equal(W[i, [i, (i - 1) % 5]], half)
    assert RING.edges(3) == [(0, 1), (1, 2), (2, 0)]


@pytest.mark.parametrize("n", [3, 5, 8])
def test_its_gap(n):
    """The eigenvalues are (1 + e^(−2πik/n))/2, of modulus |cos(πk/n)|."""
    assert spectral_gap(RING.matrix(n).dense()) == pytest.approx(1 - math.cos(math.pi / n))
