"""Graphs without draws: eigenvalues, neighbours, periods, and the numbers of workers."""

import math
from collections import Counter
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from cases import cases
from rates import check_rate, check_uniform
from stepping import mixing_matrix

from ngo.common.registries import TOPOLOGIES
from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import spectral_gap
from ngo.gossip.topologies import static
from ngo.gossip.topologies.equi import mean_shift
from verdicts.registry import UserError

BASE = TOPOLOGIES["base_graph"]
NEAR = {"near": 4, "rewired": 0.5}


def matrix(name, n, **values):
    return TOPOLOGIES[name].matrix(n, **values).dense()


def of_a_ring(n):
    """The eigenvalues of its Laplacian; two workers have a single edge."""
    return [2 * k if n == 2 else 2 - 2 * math.cos(2 * math.pi * k / n) for k in range(n)]


def of_a_torus(rows, columns):
    return [a + b for a in of_a_ring(rows) for b in of_a_ring(columns)]


# The eigenvalues of the Laplacian L, and the degree in W = I − L/(degree + 1).
SPECTRA = {
    **{("chain", n): ([2 - 2 * math.cos(math.pi * k / n) for k in range(n)], 2) for n in (3, 10)},
    **{("ring", n): (of_a_ring(n), 2) for n in (3, 16, 64)},
    **{("star", n): ([0, *[1] * (n - 2), n], n - 1) for n in (3, 10)},
    **{("complete", n): ([0, *[n] * (n - 1)], n - 1) for n in (2, 10)},
    **{("torus", 4): (of_a_torus(2, 2), 2), ("torus", 6): (of_a_torus(2, 3), 3)},
    **{("torus", 12): (of_a_torus(3, 4), 4), ("torus", 20): (of_a_torus(4, 5), 4)},
    **{("hypercube", 2**k): ([2 * i.bit_count() for i in range(2**k)], k) for k in (1, 2, 4)},
}


@pytest.mark.parametrize(("name", "n"), SPECTRA)
def test_known_eigenvalues(name, n):
    L, degree = SPECTRA[name, n]
    expected = 1 - torch.tensor(L, dtype=torch.float64) / (degree + 1)
    actual = torch.linalg.eigvalsh(matrix(name, n))
    assert torch.allclose(actual, expected.sort().values, atol=1e-12)


@pytest.mark.parametrize(("n", "printed"), [(4, "0.67"), (16, "0.05"), (36, "0.01"), (64, "0.003")])
def test_gaps_are_those_of_table_s1(n, printed):
    """The eigenvalues of a directed ring are (1 + e^(−2πik/n))/2, of modulus |cos(πk/n)|."""
    gap = spectral_gap(mixing_matrix(static.ring(n)))
    assert f"{gap:.{len(printed) - 2}f}" == printed
    assert spectral_gap(mixing_matrix(static.complete(n))) == pytest.approx(1)
    assert spectral_gap(matrix("directed_ring", n)) == pytest.approx(1 - math.cos(math.pi / n))


@pytest.mark.parametrize("n", [4, 6, 64])
def test_the_gap_of_the_directed_exponential_graph_is_the_papers(n):
    """Ying et al. 2021: 2/(1 + ⌈log₂ n⌉) for even n, with equal weights."""
    k = (n - 1).bit_length()
    W = matrix("directed_exponential", n)
    assert spectral_gap(W) == pytest.approx(2 / (1 + k))
    assert torch.equal(W[W != 0], torch.full((n * (k + 1),), 1 / (k + 1), dtype=torch.float64))


@cases(
    "name, n, worker, receives",
    ("torus", 12, 7, [3, 4, 6, 7, 11]),  # rows 0–3, 4–7 and 8–11
    ("hypercube", 8, 0b101, [0b001, 0b100, 0b101, 0b111]),
    ("directed_ring", 5, 0, [0, 4]),
    ("directed_exponential", 8, 5, [1, 3, 4, 5]),
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


@pytest.mark.parametrize("peers", [1, 2, 3, 4])
def test_a_period_is_the_mean_with_few_neighbours_in_few_steps(peers):
    """Theorem 1 of Takezawa et al. 2023: 2 log_(k+1) n + 2 steps at most."""
    for n in [*range(2, 20), 30, 36]:
        steps = range(BASE.period(n, peers=peers))
        matrices = [BASE.matrix(n, t=t, peers=peers).dense() for t in steps]
        product = torch.eye(n, dtype=torch.float64)
        for W in matrices:
            assert ((W != 0).sum(1) <= peers + 1).all()
            product = W @ product
        assert (product - 1 / n).abs().max() < 1e-12
        assert len(matrices) <= 2 * math.log(n, peers + 1) + 2 + 1e-9


@pytest.mark.parametrize(("joins", "between"), [("every_pair", 45), ("in_a_ring", 10)])
def test_ten_cliques_of_ten(joins, between):
    """The edges of the paper's 100 workers: 450 in cliques; a complete graph has 4,950."""
    graph = static.d_cliques(100, 10, joins)
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


@pytest.mark.parametrize("n", [2, 5, 8])
def test_the_mean_of_all_shifts_is_the_exact_average(n):
    W = torch.stack([mean_shift(n, [u]).dense() for u in range(1, n)]).mean(0)
    assert torch.allclose(mean_shift(n, list(range(1, n))).dense(), W, atol=1e-15)
    assert torch.allclose(W, torch.full((n, n), 1 / n, dtype=torch.float64), atol=1e-15)


def test_equi_graphs():
    """D-EquiStatic sends to M workers at most, with weights in units of (n − 1)/(nM)."""
    directed = TOPOLOGIES["d_equi_static"].matrix(10, shifts=3, seed=1).dense()
    undirected = TOPOLOGIES["u_equi_static"].matrix(10, shifts=3, seed=1).dense()
    parts = (directed - torch.eye(10, dtype=torch.float64) / 10) / 0.3
    assert torch.allclose(parts, parts.round(), atol=1e-12)
    assert (parts.sum(1) - 3).abs().max() < 1e-12
    assert torch.allclose(undirected, (directed + directed.T) / 2)
    # Pairs are u apart, and no two workers that are u apart are both alone.
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


# Graphs that are drawn, once or in each step: their rates, and that a seed decides them.


def draws(name, n, count, **values):
    stream = torch_stream(0, "graphs")
    return [TOPOLOGIES[name].edges(n, generator=stream, **values) for _ in range(count)]


def test_a_graph_that_is_never_connected_is_refused(monkeypatch):
    monkeypatch.setattr(static, "DRAWS", 7)
    asked = []
    with pytest.raises(UserError, match="topology: none of 7 draws of 'own' is connected"):
        static.connected("own", 0, lambda source: asked.append(1) or nx.empty_graph(3))
    assert len(asked) == 7
    with pytest.raises(UserError, match="none of 7 draws of 'erdos_renyi' is connected; it needs"):
        static.erdos_renyi(5, 1e-9, 0)


@pytest.mark.parametrize(
    ("name", "values"),
    [("erdos_renyi", {"u": 0.3}), ("random_regular", {"degree": 3}), ("small_world", NEAR)],
)
def test_a_seed_decides_the_graph(name, values):
    edges = [TOPOLOGIES[name].edges(10, seed=seed, **values) for seed in (0, 0, 1)]
    assert edges[0] == edges[1] != edges[2]


def test_every_erdos_renyi_graph_is_connected_and_has_edges_at_their_rate():
    """Of 8 workers with 7 edges in the mean, most draws are not; of 100, hardly any."""
    assert all(nx.is_connected(static.erdos_renyi(8, 0.25, seed)) for seed in range(20))
    edges = sum(static.erdos_renyi(100, 0.4, seed).number_of_edges() for seed in range(30))
    check_rate(edges, 30 * 4950, 0.4, sees=0.02)


@pytest.mark.parametrize("n", [200, 400])  # drawn for each pair, and by edges
def test_random_graphs_have_edges_at_their_rate(n):
    generator = torch_stream(0, "test")
    pairs = TOPOLOGIES["random"].pairs
    edges = sum(len(pairs(n, u=0.6, generator=generator)) for _ in range(25))
    check_rate(edges, 25 * n * (n - 1) // 2, 0.6)


def test_each_pair_of_many_workers_is_an_edge_equally_often():
    generator, n = torch_stream(0, "test"), 300
    actual = torch.zeros(n, n)
    for _ in range(200):
        i, j = TOPOLOGIES["random"].pairs(n, u=0.05, generator=generator).T
        assert (i < j).all()
        actual[i, j] += 1
    counts = actual[torch.ones(n, n).triu(1).bool()]
    assert float(counts.mean()) == pytest.approx(10, rel=0.01)
    assert float(counts.var()) == pytest.approx(9.5, rel=0.02)  # of a binomial distribution
    by_first = (actual.sum(1) / torch.arange(n - 1, -1, -1))[: n // 2]
    assert (by_first - 10).abs().max() < 1.5
    assert len(TOPOLOGIES["random"].pairs(n, u=1.0, generator=generator)) == n * (n - 1) // 2


@pytest.mark.parametrize(("n", "degree"), [(2, 1), (7, 2), (6, 5)])
def test_a_regular_graph_has_the_degree_and_is_connected(n, degree):
    graph = static.random_regular(n, degree, 0)
    assert {count for _, count in graph.degree} == {degree}
    assert nx.is_connected(graph)


@pytest.mark.parametrize("rewired", [0.3, 1.0])
def test_rewiring_keeps_the_number_of_edges_and_the_graph_connected(rewired):
    ring = {(min(i, j), max(i, j)) for i in range(9) for j in ((i + 1) % 9, (i + 2) % 9)}
    assert set(TOPOLOGIES["small_world"].edges(9, near=4, rewired=0.0, seed=0)) == ring
    for seed in range(5):
        graph = static.small_world(10, 4, rewired, seed)
        assert graph.number_of_edges() == 20
        assert nx.is_connected(graph)


def test_random_matchings_are_uniform_and_leave_one_of_an_odd_number_alone():
    """Four workers have three perfect matchings, six have fifteen."""
    for n, count in ((4, 3), (6, 15)):
        drawn = Counter(tuple(sorted(edges)) for edges in draws("random_matching", n, 2000))
        assert len(drawn) == count
        check_uniform(list(drawn.values()))
    for edges in draws("random_matching", 7, 20):
        met = [worker for edge in edges for worker in edge]
        assert len(met) == len(set(met)) == 6


@pytest.mark.parametrize(("n", "receivers"), [(5, 1), (6, 5), (96, 7)])
def test_each_worker_sends_to_so_many_others(n, receivers):
    for edges in draws("epidemic_out", n, 5, receivers=receivers):
        assert len(set(edges)) == n * receivers
        assert all(i != j for i, j in edges)
        assert [i for i, _ in edges].count(0) == receivers


def test_all_sets_of_receivers_are_equally_likely():
    """Each worker's, and not only each receiver: ten sets of two out of five others."""
    actual = draws("epidemic_out", 6, 1500, receivers=2)
    counts = Counter(
        (i, tuple(j for a, j in edges if a == i)) for edges in actual for i in range(6)
    )
    assert len(counts) == 60
    assert max(abs(count / 150 - 1) for count in counts.values()) < 0.35


@pytest.mark.parametrize(("n", "degree"), [(10, 1), (7, 2), (96, 7)])
def test_a_regular_graph_in_each_step(n, degree):
    actual = draws("epidemic_regular", n, 5, degree=degree)
    for edges in actual:
        assert (np.bincount(np.array(edges).flatten(), minlength=n) == degree).all()
    assert len({tuple(edges) for edges in actual}) == 5
