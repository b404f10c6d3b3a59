import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.spectrum import (
    algebraic_connectivity,
    effective_neighbours,
    laplacian,
)
from ngo.gossip.topologies.static import ring
from ngo.gossip.topology import TOPOLOGIES, Mixing


def test_laplacian_and_connectivity_of_known_graphs():
    W = mixing_matrix(ring(10))
    L = laplacian(W)
    assert torch.allclose(L.sum(1), torch.zeros(10, dtype=torch.float64), atol=1e-15)
    # λ₂ of a cycle of edges of weight 1/3.
    assert algebraic_connectivity(W) == pytest.approx(2 / 3 * (1 - math.cos(2 * math.pi / 10)))
    assert algebraic_connectivity(torch.eye(3)) == pytest.approx(0)


DECAYS = (0.0, 0.5, 0.95, 0.999)


@pytest.mark.parametrize("decay", DECAYS)
def test_effective_neighbours_of_known_graphs(decay):
    """The complete graph has n, none 1, cliques of three 3; the ring has known eigenvalues."""
    n = 12
    assert effective_neighbours([TOPOLOGIES["complete"].matrix(n)], decay) == pytest.approx(n)
    assert effective_neighbours([TOPOLOGIES["empty"].matrix(n)], decay) == pytest.approx(1)
    cliques = torch.block_diag(*[torch.ones(3, 3, dtype=torch.float64) / 3] * 4)
    assert effective_neighbours([cliques], decay) == pytest.approx(3)
    squares = [(1 / 3 + 2 / 3 * math.cos(2 * math.pi * k / n)) ** 2 for k in range(n)]
    alone = 1 / (1 - decay)
    expected = alone / (sum(s / (1 - decay * s) for s in squares) / n)
    assert effective_neighbours([mixing_matrix(ring(n))], decay) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["star", "alternating_matching"])
def test_effective_neighbours_are_those_of_a_simulated_walk(name):
    """20,000 walks of 40 steps, by the definition: x ← W(√γ x + ξ), and a worker alone."""
    n, decay, rounds = 6, 0.8, 40
    mixing, random = Mixing(name, n, SimpleNamespace()), np.random.default_rng(0)
    cycle = mixing.cycle(1)
    together = alone = np.zeros((n, 20_000))
    squares = []
    for t in range(rounds):
        noise = random.standard_normal(together.shape)
        W = cycle[t % len(cycle)].dense().numpy()
        together = W @ (decay**0.5 * together + noise)
        alone = decay**0.5 * alone + noise
        squares.append((together**2).mean() / (alone**2).mean())
    measured = 1 / np.mean(squares[-len(cycle) :])
    assert effective_neighbours(cycle, decay) == pytest.approx(measured, rel=0.02)
