import math
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rates import check_rate

from ngo.common.registries import TOPOLOGIES
from ngo.common.seeding import torch_stream
from ngo.gossip.exchange import Failures
from ngo.gossip.mixing_matrix import (
    MixingMatrix,
    algebraic_connectivity,
    effective_neighbours,
    laplacian,
    mixing_matrix,
    mixing_of,
    outgoing_shares,
)
from ngo.gossip.schedule import Mixing
from ngo.gossip.topologies.static import complete, ring
from ngo.gossip.topologies.varying import random_graph

N, STEPS = 6, 150
RING = mixing_matrix(ring(N))
COMPLETE = mixing_matrix(complete(N))
EDGES = [*((i, (i + 1) % N) for i in range(N)), (0, 2), (2, 0), (3, 1)]
DIRECTED = outgoing_shares(N, EDGES).dense()


def uniform(n, edges):
    return mixing_of(n, np.array(edges, np.int64).reshape(-1, 2), "uniform").dense()


@settings(deadline=None, max_examples=60)
@given(n=st.integers(2, 20), u=st.floats(0.01, 1), seed=st.integers(0, 2**32))
def test_mixing_matrices_of_random_graphs_are_doubly_stochastic(n, u, seed):
    """With uniform weights, W = I − L/(1 + Δ)."""
    graph = random_graph(n, u, torch_stream(seed, "test"))
    W, L = mixing_matrix(graph), nx.laplacian_matrix(graph, nodelist=range(n)).toarray()
    equal = torch.eye(n).double() - torch.from_numpy(L) / (1 + max(L.diagonal()))
    assert torch.allclose(uniform(n, list(graph.edges)), equal, atol=1e-14)
    for each in (W, uniform(n, list(graph.edges))):
        assert each.dtype == torch.float64
        assert torch.equal(each, each.T)
        assert (each >= 0).all()
        assert torch.allclose(each.sum(0), torch.ones(n).double(), atol=1e-14)
    for worker in nx.isolates(graph):
        assert W[worker, worker] == 1
    assert ((W != 0).sum() - (W.diagonal() != 0).sum()) == 2 * graph.number_of_edges()


# Spectra.


def test_laplacian_and_connectivity_of_known_graphs():
    W = mixing_matrix(ring(10))
    L = laplacian(W)
    assert torch.allclose(L.sum(1), torch.zeros(10, dtype=torch.float64), atol=1e-15)
    # λ₂ of a cycle of edges of weight 1/3.
    assert algebraic_connectivity(W) == pytest.approx(2 / 3 * (1 - math.cos(2 * math.pi / 10)))
    assert algebraic_connectivity(torch.eye(3)) == pytest.approx(0)


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.95, 0.999])
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


# Failing links and absent workers.


def drawn(W, link_failure=0.0, absence=0.0, seed=0, steps=STEPS):
    """The matrix and the absent workers of each step."""
    failures = Failures(N, seed, link_failure=link_failure, absence=absence)
    for t in range(steps):
        absent = failures.absent(t)
        yield failures.matrix(W, absent).dense(), absent


@pytest.mark.parametrize("W", [RING, COMPLETE], ids=["ring", "complete"])
def test_a_symmetric_matrix_stays_symmetric_and_doubly_stochastic(W):
    for actual, absent in drawn(W, 0.3, 0.2, steps=100):
        assert torch.equal(actual, actual.T)
        assert torch.allclose(actual.sum(0), torch.ones(N).double(), rtol=0, atol=1e-15)
        edges = ~torch.eye(N, dtype=torch.bool)
        assert ((actual == W) | (actual == 0))[edges].all()
        assert torch.equal(actual[absent], torch.eye(N).double()[absent])


def test_a_directed_edges_share_stays_with_its_sender():
    lost = 0
    for actual, _ in drawn(DIRECTED, 0.3, 0.2, steps=100):
        assert torch.allclose(actual.sum(0), torch.ones(N).double(), rtol=0, atol=1e-15)
        for j in range(N):
            kept = [i for i in range(N) if i != j and actual[i, j]]
            assert all(actual[i, j] == DIRECTED[i, j] for i in kept)
            lost += int(DIRECTED[:, j].count_nonzero()) - 1 - len(kept)
        assert bool(actual[0, 2]) == bool(actual[2, 0])  # the two directions of one link
    assert lost > 0


# Drawn for each pair, and for each link.
@pytest.mark.parametrize(("workers", "rate"), [(256, 0.2), (300, 0.5)])
def test_links_fail_at_their_rate(rate, workers):
    n, steps = workers, 46
    failures = Failures(n, 0, link_failure=rate, absence=0)
    W = MixingMatrix.of(torch.full((n, n), 1 / n, dtype=torch.float64))
    lost = sum((W.edges - failures.matrix(W, []).edges) // 2 for _ in range(steps))
    check_rate(lost, steps * n * (n - 1) // 2, rate)


@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_workers_are_away_at_their_rate(rate):
    n, steps = 10_000, 160
    failures = Failures(n, 0, link_failure=0, absence=rate)
    away = sum(len(failures.absent(t)) for t in range(1, steps + 1))
    check_rate(away, steps * n, rate)


def test_failures_depend_on_the_seed_and_the_rates_alone():
    """Whatever the graph, and whether the other rate is 0; a higher rate adds failures."""
    links = [W == 0 for W, _ in drawn(COMPLETE, 0.2)]
    assert all(
        torch.equal((W != 0).fill_diagonal_(False), (~no & (RING != 0)).fill_diagonal_(False))
        for (W, _), no in zip(drawn(RING, 0.2), links, strict=True)
    )
    away = [set(absent) for _, absent in drawn(RING, 0.0, 0.2)]
    assert away == [set(absent) for _, absent in drawn(COMPLETE, 0.5, 0.2)]
    more = [set(absent) for _, absent in drawn(RING, 0.0, 0.4)]
    assert all(a <= b for a, b in zip(away, more, strict=True))
    assert away != [set(absent) for _, absent in drawn(RING, 0.0, 0.2, seed=1)]
