import pytest
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip.topologies.equi import mean_shift
from ngo.gossip.topology import TOPOLOGIES


def shift(n, u):
    """A(u)."""
    return mean_shift(n, [u]).dense()


@pytest.mark.parametrize("n", [2, 5, 8])
def test_the_mean_of_all_shifts_is_the_exact_average(n):
    W = torch.stack([shift(n, u) for u in range(1, n)]).mean(0)
    assert torch.allclose(mean_shift(n, list(range(1, n))).dense(), W, atol=1e-15)
    assert torch.allclose(W, torch.full((n, n), 1 / n, dtype=torch.float64), atol=1e-15)


def test_the_static_graphs():
    """D-EquiStatic sends to M workers at most, with weights in units of (n − 1)/(nM)."""
    directed = TOPOLOGIES["d_equi_static"].matrix(10, shifts=3, seed=1).dense()
    undirected = TOPOLOGIES["u_equi_static"].matrix(10, shifts=3, seed=1).dense()
    parts = (directed - torch.eye(10, dtype=torch.float64) / 10) / 0.3
    assert torch.allclose(parts, parts.round(), atol=1e-12)
    assert (parts.sum(1) - 3).abs().max() < 1e-12
    assert torch.allclose(undirected, (directed + directed.T) / 2)


def test_the_static_graph_is_connected_even_of_one_shift():
    """Of 12 shifts, only 1, 5, 7 and 11 reach all of 12 workers."""
    for seed in range(20):
        edges = TOPOLOGIES["d_equi_static"].edges(12, shifts=1, seed=seed)
        assert {(j - i) % 12 for i, j in edges} < {1, 5, 7, 11}
        assert len(edges) == 12


def test_one_directed_peer_in_each_step():
    generator, seen = torch_stream(0, "test"), set()
    for _ in range(60):
        W = TOPOLOGIES["od_equi_dyn"].matrix(6, generator=generator).dense()
        (u,) = (u for u in range(1, 6) if torch.allclose(W, (torch.eye(6) + shift(6, u)) / 2))
        seen.add(u)
    assert seen == {1, 2, 3, 4, 5}


def test_one_undirected_peer_in_each_step():
    """Pairs are u apart, and no two workers that are u apart are both alone."""
    generator = torch_stream(0, "test")
    for _ in range(30):
        W = TOPOLOGIES["ou_equi_dyn"].matrix(9, generator=generator).dense()
        edges = W.triu(1).nonzero().tolist()
        apart = {min(j - i, 9 - j + i) for i, j in edges}
        assert len(apart) == 1
        (u,) = apart
        alone = set(range(9)) - {worker for edge in edges for worker in edge}
        assert not any((i + u) % 9 in alone for i in alone)
        assert torch.allclose(W[W.triu(1) != 0], torch.tensor(8 / 18, dtype=torch.float64))
