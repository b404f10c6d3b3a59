"""Graphs without draws: eigenvalues, neighbours, periods, and the numbers of workers."""

import math
from itertools import combinations
from math import comb

import networkx as nx
import numpy as np
import pytest
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.spectrum import spectral_gap
from ngo.gossip.topologies.equi import mean_shift
from ngo.gossip.topologies.static import complete, d_cliques, ring
from ngo.gossip.topology import TOPOLOGIES
from verdicts.registry import UserError


def matrix(name, n, **values):
    return TOPOLOGIES[name].matrix(n, **values).dense()


def of_a_chain(n):
    return [2 - 2 * math.cos(math.pi * k / n) for k in range(n)]


def of_a_ring(n):
    """The eigenvalues of its Laplacian; two workers have a single edge."""
    return [2 * k if n == 2 else 2 - 2 * math.cos(2 * math.pi * k / n) for k in range(n)]


def of_a_torus(rows, columns):
    return [a + b for a in of_a_ring(rows) for b in of_a_ring(columns)]


def of_a_hypercube(k):
    return [2 * j for j in range(k + 1) for _ in range(comb(k, j))]


# The eigenvalues of the Laplacian L, and the degree in W = I − L/(degree + 1).
SPECTRA = {
    **{("chain", n): (of_a_chain(n), 2) for n in (3, 10)},
    **{("ring", n): (of_a_ring(n), 2) for n in (3, 16, 64)},
    **{("star", n): ([0, *[1] * (n - 2), n], n - 1) for n in (3, 10)},
    **{("complete", n): ([0, *[n] * (n - 1)], n - 1) for n in (2, 10)},
    **{("torus", 4): (of_a_torus(2, 2), 2), ("torus", 6): (of_a_torus(2, 3), 3)},
    **{("torus", 12): (of_a_torus(3, 4), 4), ("torus", 20): (of_a_torus(4, 5), 4)},
    **{("hypercube", 2**k): (of_a_hypercube(k), k) for k in (1, 2, 4)},
}


@pytest.mark.parametrize(("name", "n"), SPECTRA)
def test_known_eigenvalues(name, n):
    L, degree = SPECTRA[name, n]
    expected = 1 - torch.tensor(L, dtype=torch.float64) / (degree + 1)
    actual = torch.linalg.eigvalsh(matrix(name, n))
    assert torch.allclose(actual, expected.sort().values, atol=1e-12)


@pytest.mark.parametrize(("n", "printed"), [(4, "0.67"), (16, "0.05"), (36, "0.01"), (64, "0.003")])
def test_gaps_are_those_of_table_s1(n, printed):
    gap = spectral_gap(mixing_matrix(ring(n)))
    assert f"{gap:.{len(printed) - 2}f}" == printed
    assert spectral_gap(mixing_matrix(complete(n))) == pytest.approx(1)


@pytest.mark.parametrize("n", [3, 8])
def test_the_gap_of_a_directed_ring(n):
    """The eigenvalues are (1 + e^(−2πik/n))/2, of modulus |cos(πk/n)|."""
    assert spectral_gap(matrix("directed_ring", n)) == pytest.approx(1 - math.cos(math.pi / n))


@pytest.mark.parametrize("n", [4, 6, 64])
def test_the_gap_of_the_directed_exponential_graph_is_the_papers(n):
    """Ying et al. 2021: 2/(1 + ⌈log₂ n⌉) for even n, with equal weights."""
    k = (n - 1).bit_length()
    W = matrix("directed_exponential", n)
    assert spectral_gap(W) == pytest.approx(2 / (1 + k))
    assert torch.equal(W[W != 0], torch.full((n * (k + 1),), 1 / (k + 1), dtype=torch.float64))


@pytest.mark.parametrize(
    ("name", "n", "worker", "receives"),
    [
        ("torus", 12, 7, [3, 4, 6, 7, 11]),  # rows 0–3, 4–7 and 8–11
        ("hypercube", 8, 0b101, [0b001, 0b100, 0b101, 0b111]),
        ("directed_ring", 5, 0, [0, 4]),
        ("directed_exponential", 8, 5, [1, 3, 4, 5]),
    ],
)
def test_from_whom_a_worker_receives(name, n, worker, receives):
    assert matrix(name, n)[worker].nonzero().flatten().tolist() == receives


def test_one_peer_on_the_exponential_graph():
    """At step t, worker i receives from i − 2^t; the matrices commute."""
    entry = TOPOLOGIES["one_peer_exponential"]
    for t, sender in enumerate([4, 3, 1, 4]):
        W = entry.matrix(8, t=t).dense()
        assert W[5].nonzero().flatten().tolist() == sorted([5, sender])
        assert (W[W != 0] == 0.5).all()
        assert (5, (5 + 2 ** (t % 3)) % 8) in entry.edges(8, t=t)
    W = [entry.matrix(8, t=t).dense() for t in (2, 3, 4)]
    assert torch.equal(W[2] @ W[1] @ W[0], torch.full((8, 8), 1 / 8, dtype=torch.float64))


@pytest.mark.parametrize("n", [2, 5, 8])
def test_alternating_matchings_cover_each_edge_of_the_ring_once(n):
    entry = TOPOLOGIES["alternating_matching"]
    met = [edge for t in range(entry.period(n)) for edge in entry.edges(n, t=t)]
    assert sorted(met) == sorted(TOPOLOGIES["ring"].edges(n) * (2 if n == 2 else 1))


@pytest.mark.parametrize(
    ("name", "n", "message"),
    [
        ("hypercube", 10, "'hypercube' needs a power of 2, so workers can't be 10; 8 and 16 are"),
        ("one_peer_hypercube", 10, "needs a power of 2, so workers can't be 10; 8 and 16 are"),
        ("torus", 2, "workers can't be 2; 4 is possible"),
        ("torus", 7, "workers can't be 7; 8 is possible"),
    ],
)
def test_another_number_of_workers_is_refused(name, n, message):
    for call in (TOPOLOGIES[name].check_values, TOPOLOGIES[name].edges):
        with pytest.raises(UserError, match=message):
            call(n)


BASE = TOPOLOGIES["base_graph"]
MANY_SIZES = [*range(2, 20), 30, 36]


def period(n, peers):
    return [BASE.matrix(n, t=t, peers=peers).dense() for t in range(BASE.period(n, peers=peers))]


@pytest.mark.parametrize("peers", [1, 2, 3, 4])
def test_a_period_is_the_mean_with_few_neighbours_in_few_steps(peers):
    """Theorem 1 of Takezawa et al. 2023: 2 log_(k+1) n + 2 steps at most."""
    for n in MANY_SIZES:
        matrices = period(n, peers)
        product = torch.eye(n, dtype=torch.float64)
        for W in matrices:
            assert ((W != 0).sum(1) <= peers + 1).all()
            product = W @ product
        assert (product - 1 / n).abs().max() < 1e-12
        assert len(matrices) <= 2 * math.log(n, peers + 1) + 2 + 1e-9


@pytest.mark.parametrize(("joins", "between"), [("every_pair", 45), ("in_a_ring", 10)])
def test_ten_cliques_of_ten(joins, between):
    """The edges of the paper's 100 workers: 450 in cliques; a complete graph has 4,950."""
    graph = d_cliques(100, 10, joins)
    inside = {(i, j) for i, j in graph.edges if i // 10 == j // 10}
    assert inside == {
        edge for first in range(0, 100, 10) for edge in combinations(range(first, first + 10), 2)
    }
    outside = [(i, j) for i, j in graph.edges if (i, j) not in inside]
    assert len(outside) == between
    assert len({(i // 10, j // 10) for i, j in outside}) == between
    assert nx.is_connected(graph)
    ends = np.bincount(np.array(outside).flatten(), minlength=100)
    assert ends.max() == 1  # no worker has two edges to other cliques


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
