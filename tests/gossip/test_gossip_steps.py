"""Mixing matrices and their spectra, φ_p, and the gossip step."""

import itertools
import math
from functools import cache
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rates import check_rate
from stepping import fields, mixing_matrix
from torch.utils._python_dispatch import TorchDispatchMode

from ngo.common.registries import COUPLINGS, DECLARED, TOPOLOGIES
from ngo.common.seeding import torch_stream
from ngo.gossip import gossip_step as steps
from ngo.gossip.exchange import Failures, Network
from ngo.gossip.gossip_step import gossip_step, phi
from ngo.gossip.mixing_matrix import (
    MixingMatrix,
    algebraic_connectivity,
    effective_neighbours,
    laplacian,
    mixing_of,
    outgoing_shares,
)
from ngo.gossip.schedule import Mixing
from ngo.gossip.topologies.static import complete, ring
from ngo.gossip.topologies.varying import random_graph
from ngo.native import threads

SEEDS = st.integers(0, 1000)
P = st.sampled_from([0.5, 0.6, 0.75, 0.9, 1, 1.5, 2])
DEFAULTS = {name: option.default for name, option in DECLARED.items()}
OPTIONS = fields(**{**DEFAULTS, "u": 0.1, "seed": 0, "clip": 2.0})
# Those with steps that all workers take together.
NAMES = sorted(name for name, entry in TOPOLOGIES.items() if "graph" not in entry.fields)


@pytest.mark.parametrize("p", [0, -1, math.nan])
def test_a_step_needs_p_above_0(p):
    with pytest.raises(ValueError, match="above 0"):
        gossip_step(torch.ones(2, 1), torch.eye(2), 1.0, p)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", [0.5, 0.6, 0.75, 0.9, 1, 1.5, 2])
def test_phi_and_the_pulls_of_a_step_are_right_for_extreme_numbers(p, dtype):
    """All magnitudes of float32, 0, infinity and NaN, against Python's own powers."""
    sizes = torch.linspace(-149, 127.9, 2001, dtype=torch.float64).exp2().tolist()
    z = torch.tensor([*sizes, 0.0, math.inf, math.nan]).to(dtype)
    z = torch.cat([z, -z])

    def power(value):
        return math.copysign(abs(value) ** (2 * p - 1) if value else 0, value)

    expected = torch.tensor(list(map(power, z.tolist())), dtype=torch.float64).to(dtype)
    expected[z.isnan()] = math.nan  # at p = 1/2, Python's is 1
    at, new = torch.stack([torch.zeros_like(z), z]), [phi(z, p)]
    W = torch.tensor([[0, 1], [1, 0]], dtype=torch.float64)
    if p != 1:  # a matrix product, in which infinity times 0 is NaN
        pulled = gossip_step(torch.zeros_like(at), W, 1.0, p, at=at)
        new += [pulled[0], -pulled[1]]
    for each in new:
        assert torch.allclose(each, expected, rtol=2e-5, atol=2.0**-126, equal_nan=True)


def naive_step(X, W, gamma, p):
    """The equation, term by term."""
    new = X.clone()
    for i, j in itertools.permutations(range(len(X)), 2):
        z = X[j] - X[i]
        new[i] += gamma * W[i, j].item() * z.sign() * z.abs() ** (2 * p - 1)
    return new


def random_weights(n, u, seed):
    return mixing_matrix(random_graph(n, u, torch_stream(seed, "weights")))


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 9), st.integers(1, 40), st.floats(0.05, 1), P, st.floats(0.01, 1), SEEDS)
def test_step_equals_the_equation_and_conserves_the_mean(n, d, u, p, gamma, seed):
    """Also of another state Y, then X + (step(Y) − Y)."""
    X, Y = torch.randn(2, n, d, generator=torch_stream(seed, "X"), dtype=torch.float64)
    W = random_weights(n, u, seed)
    new = gossip_step(X, W, gamma, p)
    assert torch.allclose(new, naive_step(X, W, gamma, p), atol=1e-12)
    assert torch.allclose(new.mean(0), X.mean(0), atol=1e-13)
    assert torch.allclose(gossip_step(X, W, gamma, p, at=X), new, atol=1e-14)
    stale = gossip_step(X, W, gamma, p, at=Y)
    assert torch.allclose(stale, X + naive_step(Y, W, gamma, p) - Y, atol=1e-12)


@pytest.mark.parametrize("p", [0.5, 0.8, 1])
@pytest.mark.parametrize("stale", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_step_in_place_and_on_any_threads_is_the_same_bytes(monkeypatch, p, stale, dtype):
    X, past = torch.randn(2, 7, 9999, generator=torch_stream(0, "X"), dtype=dtype)
    W = random_weights(7, 0.5, 1)
    monkeypatch.setattr(steps, "BLOCK", 7000)  # 10 blocks
    monkeypatch.setattr(threads, "SHARE", 7000)
    at = past if stale else None
    expected = gossip_step(X, W, 0.1, p, at=at)
    for count in (1, 2, 5):
        mine = X.clone()
        assert gossip_step(mine, W, 0.1, p, at=at, out=mine, spread=threads.threads(count)) is mine
        assert torch.equal(mine, expected)


# Steps along edges are those of dense matrices, for every topology, coupling and method.


@cache
def matrix(name, n):
    return Mixing(name, n, OPTIONS, torch_stream(0, "graphs")).at(0)


def dense_pulls(W, at, pull):
    """Σ_j of the pulls on each worker, in all n² places."""
    pulls = at[None] - at[:, None]
    edges = W.clone().fill_diagonal_(0) != 0
    pulls[edges] = pull(pulls[edges], W[edges][:, None])
    pulls[~edges] = 0
    return pulls.sum(1)


@pytest.mark.parametrize("n", [16, 256])
@pytest.mark.parametrize("name", NAMES)
def test_linear_steps_and_products(name, n):
    X, Y = torch.randn(2, n, 7, generator=torch_stream(0, "X"))
    W = matrix(name, n)
    dense = W.dense()
    mixed, network = X.clone(), Network()
    network.set_matrix(W)
    network.mix(mixed)
    assert torch.allclose(mixed.double(), dense @ X.double(), rtol=0, atol=1e-5)
    assert network.messages == int(dense.count_nonzero() - dense.diagonal().count_nonzero())
    if not TOPOLOGIES[name].directed:
        for at in (X, Y):
            expected = X.double() - 0.4 * laplacian(dense) @ at.double()
            for state in (X, X.double()):
                seen = state if at is X else at.to(state)
                new = gossip_step(state, W, 0.4, 1, at=seen)
                assert torch.allclose(new.double(), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in NAMES if not TOPOLOGIES[name].directed])
@pytest.mark.parametrize("coupling", [name for name in sorted(COUPLINGS) if COUPLINGS[name].pull])
def test_couplings(coupling, name):
    n, W = 64, matrix(name, 64)
    X = torch.randn(n, 5, generator=torch_stream(0, "X"))
    entry = COUPLINGS[coupling]

    def pull(z, weights):
        return entry.pull(z, weights, 0.3, OPTIONS)

    expected = X.double() + dense_pulls(W.dense(), X.double(), pull)
    for state in (X, X.double()):
        new = entry.step(state, W, 0.3, OPTIONS)
        assert torch.allclose(new.double(), expected, rtol=0, atol=2e-5)


class Largest(TorchDispatchMode):
    """``numel`` is the number of elements of the largest tensor made in the block."""

    numel = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            self.numel = max(self.numel, out.numel())
        return out


def test_a_large_graph_is_never_dense():
    """A torus of 10,000 workers: neither its matrix nor a step has n² elements."""
    n, X = 10_000, torch.randn(10_000, 5, generator=torch_stream(0, "X"))
    with Largest() as largest:
        W = matrix("torus", n)
        for state in (X, X.double()):
            for p in (0.9, 1):
                gossip_step(state, W, 0.4, p)
            COUPLINGS["capped"].step(state, W, 0.4, OPTIONS)
            COUPLINGS["clipped"].step(state, W, 0.4, OPTIONS)
    assert largest.numel <= 128 * n
    assert isinstance(W, MixingMatrix)


N, STEPS = 6, 150
RING = mixing_matrix(ring(N))
COMPLETE = mixing_matrix(complete(N))
EDGES = [*((i, (i + 1) % N) for i in range(N)), (0, 2), (2, 0), (3, 1)]
DIRECTED = outgoing_shares(N, np.array(EDGES)).dense()


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


def test_laplacian_and_connectivity_of_known_graphs():
    W = mixing_matrix(ring(10))
    assert torch.allclose(laplacian(W).sum(1), torch.zeros(10, dtype=torch.float64), atol=1e-15)
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


def drawn(W, link_failure=0.0, absence=0.0, seed=0, steps=STEPS):
    """The matrix and the absent workers of each step."""
    failures = Failures(N, seed, link_failure=link_failure, absence=absence)
    for t in range(steps):
        absent = failures.absent(t)
        yield failures.matrix(MixingMatrix.of(W), absent).dense(), absent


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
    check_rate(sum(len(failures.absent(t)) for t in range(1, steps + 1)), steps * n, rate)


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
