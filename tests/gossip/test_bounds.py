"""Bounds, limits and floors compared with simulated dynamics."""

import math

import pytest
import torch
from conftest import gaussian
from hypothesis import given, settings
from hypothesis import strategies as st

from ngo.common.seeding import torch_stream
from ngo.gossip import bounds
from ngo.gossip.consensus import integrate, simulate, synchronization_index
from ngo.gossip.mixing_matrix import metropolis_hastings, mixing_matrix
from ngo.gossip.topologies.static import complete, ring
from ngo.native.pool import one_intra_op_thread

TWO = torch.tensor([[0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with one_intra_op_thread():
        yield


def random_weights(n, u, seed):
    """Symmetric weights on a random tree and further edges, each with probability u."""
    generator = torch_stream(seed, "weights")
    W = 0.05 + torch.rand(n, n, generator=generator, dtype=torch.float64)
    there = torch.rand(n, n, generator=generator) < u
    for i in range(1, n):
        there[i, int(torch.randint(i, (1,), generator=generator))] = True
    W = (W * there).tril(-1)
    return W + W.T


def test_the_printed_time_fails_on_two_workers_and_the_corrected_one_holds():
    V0, p = 0.1425, 0.75
    printed, corrected, sharp = (
        bounds.finite_time_bound(V0, TWO, p, 1.0, form) for form in ("paper", "corrected", "sharp")
    )
    assert printed == pytest.approx(0.73, abs=0.005)
    assert corrected == pytest.approx(1.74, abs=0.005)
    half = math.sqrt(V0 / 2)
    X0 = torch.tensor([[half], [-half]], dtype=torch.float64)
    early = integrate(X0, TWO, p, t_end=10, tol=6e-6).consensus_time
    assert early == pytest.approx(1.39, abs=0.005)
    end = integrate(X0, TWO, p, t_end=10, tol=1e-14).consensus_time
    assert printed < early < end < sharp < corrected
    assert end == pytest.approx(sharp, rel=1e-3)
    assert sharp == 2 * printed


@settings(deadline=None, max_examples=40, derandomize=True)
@given(
    n=st.integers(2, 6),
    d=st.integers(1, 2),
    u=st.floats(0, 1),
    p=st.floats(0.5, 0.97),
    gamma=st.floats(0.1, 2),
    scale=st.floats(0.01, 10),
    seed=st.integers(0, 10_000),
)
def test_consensus_comes_by_the_corrected_times(n, d, u, p, gamma, scale, seed):
    W, X0, tol = random_weights(n, u, seed), scale * gaussian(n, d, seed), 1e-8
    V0 = float(synchronization_index(X0))
    corrected, sharp = (
        bounds.finite_time_bound(V0, W, p, gamma, form, V_end=tol * V0)
        for form in ("corrected", "sharp")
    )
    flow = integrate(X0, W, p, gamma, t_end=2 * sharp, tol=tol)
    assert flow.consensus_time <= sharp * (1 + 1e-3)
    assert sharp <= corrected


def test_a_finite_time_needs_a_connected_graph_and_a_sublinear_coupling():
    pieces = metropolis_hastings(4, [(0, 1), (2, 3)]).dense()
    assert bounds.finite_time_bound(1.0, pieces, 0.75) == math.inf
    with pytest.raises(ValueError, match=r"\[1/2, 1\)"):
        bounds.finite_time_bound(1.0, TWO, 1.0)


def test_delay_limits_of_known_spectra():
    assert bounds.delay_limit(TWO) == pytest.approx(math.pi / 2)  # λ_n = 1
    W = mixing_matrix(ring(6))  # λ_n = 4/3
    assert bounds.delay_limit(W) == pytest.approx(3 * math.pi / 8)
    # x ← x − γλ x(t − 1) is stable up to γλ = 1: the roots of z² − z + γλ have modulus √(γλ).
    assert bounds.delay_limit(TWO, 1.0) == pytest.approx(1)
    assert bounds.delay_limit(TWO, 1e-4) == pytest.approx(math.pi / 2 - 0.5e-4, abs=1e-7)
    assert bounds.delay_limit(W, 2.0) == 0  # γλ_n above 2: even the undelayed diverge


@pytest.mark.parametrize("p", [0.6, 0.75, 0.9])
@pytest.mark.parametrize("gamma", [0.1, 1.0])
def test_the_cycle_of_two_workers_and_of_an_even_ring(p, gamma):
    w = 0.5
    run = simulate(torch.tensor([[0.7], [-0.4]], dtype=torch.float64), TWO, p, gamma, 1000)
    before, after = (run.states[-2:, 0] - run.states[-2:, 1]).flatten().tolist()
    assert abs(after) == pytest.approx(bounds.chatter_floor(gamma, w, p), rel=1e-6)
    assert before == pytest.approx(-after, rel=1e-6)
    assert float(run.V[-1]) == pytest.approx(bounds.chatter_V(gamma, TWO, p), rel=1e-6)
    eight = mixing_matrix(ring(8))
    expected = 3 * 8 / 4 * (2 * gamma / 3) ** (1 / (1 - p))
    assert bounds.chatter_V(gamma, eight, p, d=3) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("p", [0.6, 0.9])
@pytest.mark.parametrize("graph", [ring(5), ring(10), complete(6)])
def test_rounds_end_near_the_predicted_floor(graph, p):
    """Some coordinates may end in a smaller cycle than the largest: within 30 % in V, not above."""
    W = mixing_matrix(graph)
    V = simulate(gaussian(len(W), 100), W, p, 1.0, 700).V[-50:].mean().item()
    assert 0.7 <= V / bounds.chatter_V(1.0, W, p, d=100) <= 1.001


@pytest.mark.parametrize(("T", "a"), [(1, 16.0), (7, 3.5), (100, 40.0)])
def test_the_sum_of_weights(T, a):
    S = bounds.weight_sum(T, a)
    assert sum((a + t) ** 2 for t in range(T)) == pytest.approx(S)
    assert S >= T**3 / 3


def test_the_bound_of_sgd_term_by_term():
    known = {"mu": 0.5, "L": 2.0, "a": 64.0, "n": 4}
    S = bounds.weight_sum(10, 64.0)
    alone = {"sigma2": 0.0, "distance2": 0.0, "weighted_V": 0.0}
    terms = {
        "distance2": 0.5 * 64**3 / (8 * S),
        "sigma2": 4 * 10 * (10 + 128) / (0.5 * 4 * S),
        "weighted_V": 4.5 / (4 * S),
    }
    for name, term in terms.items():
        assert bounds.sgd_bound(10, **known, **{**alone, name: 3.0}) == pytest.approx(3 * term)
    ones = dict.fromkeys(alone, 1.0)
    assert bounds.sgd_bound(10, **known, **ones) == pytest.approx(sum(terms.values()))
