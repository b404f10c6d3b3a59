import math

import pytest
import torch

from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.spectrum import algebraic_connectivity, laplacian
from ngo.gossip.topologies.static import ring


def test_laplacian_and_connectivity_of_known_graphs():
    W = mixing_matrix(ring(10))
    L = laplacian(W)
    assert torch.allclose(L.sum(1), torch.zeros(10, dtype=torch.float64), atol=1e-15)
    # λ₂ of a cycle of edges of weight 1/3.
    assert algebraic_connectivity(W) == pytest.approx(2 / 3 * (1 - math.cos(2 * math.pi / 10)))
    assert algebraic_connectivity(torch.eye(3)) == pytest.approx(0)
