import pytest
import torch

from ngo.gossip.spectrum import spectral_gap
from ngo.gossip.topologies.complete import complete
from ngo.gossip.weights import mixing_matrix


@pytest.mark.parametrize("n", [2, 3, 10, 64])
def test_complete_weights_average_exactly(n):
    W = mixing_matrix(complete(n))
    assert torch.allclose(W, torch.full((n, n), 1 / n, dtype=torch.float64), atol=1e-15)


@pytest.mark.parametrize("n", [4, 16, 36, 64])
def test_complete_gap_is_one(n):
    assert spectral_gap(mixing_matrix(complete(n))) == pytest.approx(1)
