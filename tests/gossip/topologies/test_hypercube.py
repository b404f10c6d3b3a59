from math import comb

import pytest
import torch

from ngo.common.registry import UserError
from ngo.gossip.topology import TOPOLOGIES


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_eigenvalues_of_a_hypercube(k):
    """W = I − L/(k + 1), and L has the eigenvalue 2j C(k, j) times."""
    values = [1 - 2 * j / (k + 1) for j in range(k + 1) for _ in range(comb(k, j))]
    expected = torch.tensor(values, dtype=torch.float64).sort().values
    found = torch.linalg.eigvalsh(TOPOLOGIES["hypercube"].matrix(2**k).dense())
    assert torch.allclose(found, expected, atol=1e-12)


def test_neighbours_differ_in_one_digit():
    W = TOPOLOGIES["hypercube"].matrix(8).dense()
    assert W[0b101].nonzero().flatten().tolist() == [0b001, 0b100, 0b101, 0b111]


@pytest.mark.parametrize("name", ["hypercube", "one_peer_hypercube"])
def test_another_number_of_workers_is_refused(name):
    message = f"topology: '{name}' needs a power of 2, so workers can't be 10; 8 and 16 are poss"
    with pytest.raises(UserError, match=message):
        TOPOLOGIES[name].check_values(10)
