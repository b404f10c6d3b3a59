import math

import pytest
import torch

from ngo.gossip.spectrum import algebraic_connectivity, laplacian, spectral_gap
from ngo.gossip.topologies.ring import ring
from ngo.gossip.weights import mixing_matrix


def test_gap_takes_the_negative_end_of_the_spectrum():
    W = torch.tensor([[0.1, 0.9], [0.9, 0.1]])  # eigenvalues 1 and −0.8
    assert spectral_gap(W) == pytest.approx(0.2)


def test_a_single_worker_has_gap_1():
    assert spectral_gap(torch.ones(1, 1)) == 1


def test_laplacian_and_connectivity_of_known_graphs():
    W = mixing_matrix(ring(10))
    L = laplacian(W)
    assert torch.allclose(L.sum(1), torch.zeros(10, dtype=torch.float64), atol=1e-15)
    # λ₂ of a cycle of edges of weight 1/3.
    assert algebraic_connectivity(W) == pytest.approx(2 / 3 * (1 - math.cos(2 * math.pi / 10)))
    assert algebraic_connectivity(torch.eye(3)) == pytest.approx(0)
