import pytest
import torch

from ngo.gossip.topology import TOPOLOGIES


@pytest.mark.parametrize("n", [3, 4, 10])
def test_the_eigenvalues_of_a_chain(n):
    """W = I − L/3 for the Laplacian L, whose eigenvalues are 2 − 2 cos(πk/n)."""
    k = torch.arange(n, dtype=torch.float64)
    expected = 1 - (2 - 2 * torch.cos(torch.pi * k / n)) / 3
    found = torch.linalg.eigvalsh(TOPOLOGIES["chain"].matrix(n).dense())
    assert torch.allclose(found, expected.sort().values, atol=1e-12)


def test_its_ends_have_one_neighbour():
    assert TOPOLOGIES["chain"].edges(4) == [(0, 1), (1, 2), (2, 3)]
    assert TOPOLOGIES["chain"].matrix(2).dense().tolist() == [[0.5, 0.5], [0.5, 0.5]]
