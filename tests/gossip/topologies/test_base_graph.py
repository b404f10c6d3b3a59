import math

import pytest
import torch

from ngo.gossip.topology import TOPOLOGIES

BASE, HYPERCUBE = TOPOLOGIES["base_graph"], TOPOLOGIES["one_peer_hypercube"]
SIZES = [*range(2, 20), 30, 36]


def period(n, peers):
    return [BASE.matrix(n, t=t, peers=peers).dense() for t in range(BASE.period(n, peers=peers))]


@pytest.mark.parametrize("peers", [1, 2, 3, 4])
def test_a_period_is_the_mean_with_few_neighbours_in_few_steps(peers):
    """Theorem 1 of Takezawa et al. 2023: 2 log_(k+1) n + 2 steps at most."""
    for n in SIZES:
        matrices = period(n, peers)
        product = torch.eye(n, dtype=torch.float64)
        for W in matrices:
            assert ((W != 0).sum(1) <= peers + 1).all()
            product = W @ product
        assert (product - 1 / n).abs().max() < 1e-12
        assert len(matrices) <= 2 * math.log(n, peers + 1) + 2 + 1e-9


@pytest.mark.parametrize(
    ("n", "peers", "steps"), [(3, 1, 3), (5, 1, 5), (6, 1, 4), (7, 1, 5), (6, 2, 2), (7, 2, 4)]
)
def test_how_many_steps(n, peers, steps):
    """For example n = 5 = 4 + 1: two steps among 4, one link, two steps among 4 again."""
    assert BASE.period(n, peers=peers) == steps


@pytest.mark.parametrize("n", [4, 8])
def test_of_a_power_of_2_with_one_peer_it_is_the_hypercube(n):
    for t, W in enumerate(period(n, 1)):
        assert torch.equal(W, HYPERCUBE.matrix(n, t=t).dense())
