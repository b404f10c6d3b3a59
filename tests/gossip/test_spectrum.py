import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip import spectrum
from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.spectrum import (
    algebraic_connectivity,
    effective_neighbours,
    laplacian,
    laplacian_range,
    spectral_gap,
)
from ngo.gossip.topologies.static import ring
from ngo.gossip.topology import TOPOLOGIES, Mixing

UNDIRECTED = (
    *("ring", "chain", "star", "torus", "hypercube", "exponential", "complete"),
    *("random_matching", "u_equi_static"),
)
DIRECTED = "directed_ring", "directed_exponential", "d_equi_static"


def test_laplacian_and_connectivity_of_known_graphs():
    W = mixing_matrix(ring(10))
    L = laplacian(W)
    assert torch.allclose(L.sum(1), torch.zeros(10, dtype=torch.float64), atol=1e-15)
    # λ₂ of a cycle of edges of weight 1/3.
    assert algebraic_connectivity(W) == pytest.approx(2 / 3 * (1 - math.cos(2 * math.pi / 10)))
    assert algebraic_connectivity(torch.eye(3)) == pytest.approx(0)


@pytest.mark.parametrize("n", [64, 256])
@pytest.mark.parametrize("name", [*UNDIRECTED, *DIRECTED])
def test_extreme_eigenvalues_are_those_of_the_dense_matrix(monkeypatch, name, n):
    values = {"generator": torch_stream(0, "graphs"), "shifts": 4, "seed": 0}
    W = TOPOLOGIES[name].matrix(n, **values)
    gap = spectral_gap(W)
    ends = () if name in DIRECTED else laplacian_range(W)
    monkeypatch.setattr(spectrum, "DENSE", 0)
    assert spectral_gap(W) == pytest.approx(gap, rel=1e-6, abs=1e-12)
    assert ends == () or laplacian_range(W) == pytest.approx(ends, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("n", [2025])
def test_known_gaps_of_many_workers(n):
    """Of a ring with weights 1/3, and of a torus with weights 1/5."""
    turn = 1 - math.cos(2 * math.pi / n)
    assert spectral_gap(TOPOLOGIES["ring"].matrix(n)) == pytest.approx(2 / 3 * turn, rel=1e-5)
    turn = 1 - math.cos(2 * math.pi / math.isqrt(n))
    assert spectral_gap(TOPOLOGIES["torus"].matrix(n)) == pytest.approx(2 / 5 * turn, rel=1e-6)


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
