import math

import pytest
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip import spectrum
from ngo.gossip.spectrum import (
    algebraic_connectivity,
    laplacian,
    laplacian_range,
    spectral_gap,
)
from ngo.gossip.topologies.ring import ring
from ngo.gossip.topology import TOPOLOGIES
from ngo.gossip.weights import mixing_matrix

UNDIRECTED = (
    *("ring", "chain", "star", "torus", "hypercube", "exponential", "complete"),
    *("random_matching", "u_equi_static"),
)
DIRECTED = "directed_ring", "directed_exponential", "d_equi_static"


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
