import pytest
import torch

from ngo.gossip.topology import TOPOLOGIES


@pytest.mark.parametrize("n", [3, 4, 10])
def test_the_eigenvalues_of_a_star(n):
    """W = 1/n on edges: 1, then 1 − 1/n for the leaves' differences, and 0."""
    W = TOPOLOGIES["star"].matrix(n).dense()
    expected = torch.tensor([0, *[1 - 1 / n] * (n - 2), 1], dtype=torch.float64)
    assert torch.allclose(torch.linalg.eigvalsh(W), expected, atol=1e-12)


def test_worker_0_is_the_hub():
    assert TOPOLOGIES["star"].edges(4) == [(0, 1), (0, 2), (0, 3)]
    assert TOPOLOGIES["star"].matrix(2).dense().tolist() == [[0.5, 0.5], [0.5, 0.5]]
