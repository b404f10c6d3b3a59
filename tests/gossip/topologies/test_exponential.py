import pytest
import torch

from ngo.gossip.spectrum import spectral_gap
from ngo.gossip.topology import TOPOLOGIES


@pytest.mark.parametrize("n", [4, 6, 8, 12, 16, 64])
def test_the_gap_of_the_directed_graph_is_the_papers(n):
    """Ying et al. 2021: 2/(1 + ⌈log₂ n⌉) for even n, with equal weights."""
    W = TOPOLOGIES["directed_exponential"].matrix(n).dense()
    k = (n - 1).bit_length()
    assert spectral_gap(W) == pytest.approx(2 / (1 + k))
    assert torch.equal(W[W != 0], torch.full((n * (k + 1),), 1 / (k + 1), dtype=torch.float64))


def test_a_worker_receives_from_those_before_it():
    W = TOPOLOGIES["directed_exponential"].matrix(8).dense()
    assert W[5].nonzero().flatten().tolist() == [1, 3, 4, 5]


@pytest.mark.parametrize(("n", "degree"), [(2, 1), (3, 2), (5, 4), (8, 5), (10, 6), (16, 7)])
def test_the_degree_without_directions(n, degree):
    """The distance n/2 is its own opposite; of 10 workers, 2 and 8 are opposite."""
    assert ((TOPOLOGIES["exponential"].matrix(n).dense() != 0).sum(1) == degree + 1).all()


def test_the_gap_without_directions():
    """Of 16 workers with 7 neighbours, λ₂ = 4/8; the gap of their ring is 0.05."""
    assert spectral_gap(TOPOLOGIES["exponential"].matrix(16).dense()) == pytest.approx(0.5)
