"""Consensus dynamics and SGD on least squares, with their bounds, limits and floors."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from conftest import gaussian
from hypothesis import given, settings
from hypothesis import strategies as st
from stepping import mixing_matrix

from ngo.common.seeding import numpy_stream, torch_stream
from ngo.gossip import bounds
from ngo.gossip.bounds import delay_limit
from ngo.gossip.consensus_dynamics import integrate, simulate, synchronization_index
from ngo.gossip.mixing_matrix import laplacian, mixing_of
from ngo.gossip.topologies.static import complete, ring
from ngo.native.threads import one_intra_op_thread
from ngo.theorems.least_squares import LeastSquares, gaussian_problem, sgd
from ngo.theorems.rounds import delayed_tolerance

TWO = torch.tensor([[0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)
SIZES = st.tuples(st.integers(2, 6), st.integers(1, 2), st.integers(0, 10_000))
RATES = st.tuples(st.floats(0, 1), st.floats(0.5, 0.97), st.floats(0.1, 2), st.floats(0.01, 10))


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


@settings(deadline=None, max_examples=20, derandomize=True)
@given(SIZES, RATES)
def test_consensus_comes_by_the_corrected_times(sizes, rates):
    (n, d, seed), (u, p, gamma, scale) = sizes, rates
    W, X0, tol = random_weights(n, u, seed), scale * gaussian(n, d, seed), 1e-8
    V0 = float(synchronization_index(X0))
    forms = ("corrected", "sharp")
    corrected, sharp = (bounds.finite_time_bound(V0, W, p, gamma, form) for form in forms)
    flow = integrate(X0, gamma * W, p, t_end=2 * sharp, tol=tol)
    assert flow.consensus_time <= sharp * (1 + 1e-3)
    assert sharp <= corrected


def test_a_finite_time_needs_a_connected_graph_and_a_sublinear_coupling():
    pieces = mixing_of(4, np.array([(0, 1), (2, 3)])).dense()
    assert bounds.finite_time_bound(1.0, pieces, 0.75) == math.inf
    with pytest.raises(ValueError, match=r"\[1/2, 1\)"):
        bounds.finite_time_bound(1.0, TWO, 1.0)
    pieces = mixing_of(4, np.array([(0, 1), (2, 3)])).dense()
    flow = integrate(gaussian(4), pieces, 0.75, t_end=50, tol=1e-6)
    assert flow.consensus_time == math.inf
    assert float(flow.times[-1]) == pytest.approx(50)


def test_delay_limits_of_known_spectra():
    assert bounds.delay_limit(TWO) == pytest.approx(math.pi / 2)  # λ_n = 1
    W = mixing_matrix(ring(6))  # λ_n = 4/3
    assert bounds.delay_limit(W) == pytest.approx(3 * math.pi / 8)
    # x ← x − γλ x(t − 1) is stable up to γλ = 1: the roots of z² − z + γλ have modulus √(γλ).
    assert bounds.delay_limit(TWO, 1.0) == pytest.approx(1)
    assert bounds.delay_limit(TWO, 1e-4) == pytest.approx(math.pi / 2 - 0.5e-4, abs=1e-7)
    assert bounds.delay_limit(W, 2.0) == 0  # γλ_n above 2: even the undelayed diverge


@pytest.mark.parametrize(("p", "gamma"), [(0.6, 0.1), (0.75, 1.0), (0.9, 0.1)])
def test_the_cycle_of_two_workers_and_of_an_even_ring(p, gamma):
    w = 0.5
    run = simulate(torch.tensor([[0.7], [-0.4]], dtype=torch.float64), TWO, p, gamma, 1000)
    before, after = (run.states[-2:, 0] - run.states[-2:, 1]).flatten().tolist()
    assert abs(after) == pytest.approx((gamma * w) ** (1 / (2 - 2 * p)), rel=1e-6)
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


def test_index_of_known_states():
    assert synchronization_index(torch.tensor([[1.0, 0.0], [-1.0, 0.0]])).item() == 2
    assert synchronization_index(torch.full((5, 3), 0.1)).item() == 0  # exact, not rounded
    stack = torch.stack([torch.zeros(2, 1), torch.tensor([[3.0], [1.0]])])
    assert synchronization_index(stack).tolist() == [0, 2]


def test_linear_consensus_contracts_by_the_second_eigenvalue():
    """From the second eigenvector, V shrinks by (1 − γλ₂(L))² each round, exactly."""
    W = mixing_matrix(ring(10))
    eigenvalues, vectors = torch.linalg.eigh(laplacian(W))
    run = simulate(vectors[:, 1:2], W, p=1, gamma=0.5, rounds=50)
    rates = (1 - 0.5 * eigenvalues[1]) ** (2 * torch.arange(51))
    assert torch.allclose(run.V, run.V[0] * rates, rtol=1e-10)


@pytest.mark.parametrize("p", [0.5, 0.9, 1, 2])
def test_a_delay_of_0_is_none_and_of_1_is_the_previous_state(p):
    W = mixing_matrix(ring(10))
    X0 = gaussian(10, 3)
    undelayed = simulate(X0, W, p, 0.02, 20)
    assert torch.equal(simulate(X0, W, p, 0.02, 20, delay=0).states, undelayed.states)
    states = simulate(X0, W, p, 0.02, 20, delay=1).states
    first = undelayed.states[1] - X0  # the pull at X0, which the first two rounds both see
    assert torch.allclose(states[1] - states[0], first, atol=1e-15)
    assert torch.allclose(states[2] - states[1], first, atol=1e-15)
    assert torch.allclose(states.mean(1), X0.mean(0).expand(21, 3), atol=1e-13)


def critical_state(W):
    """The eigenvector of λ_n, which a delay makes unstable first."""
    return torch.linalg.eigh(laplacian(W))[1][:, -1:]


@pytest.mark.parametrize("graph", [ring(2), ring(7)])
def test_linear_consensus_bears_delays_up_to_the_limit(graph):
    W = mixing_matrix(graph)
    gamma, rounds = 0.1, 800
    limit = delay_limit(W, gamma)
    below, beyond = math.floor(limit / gamma), math.floor(limit / gamma) + 1
    V = simulate(critical_state(W), W, 1, gamma, rounds, below).V
    assert V[-80:].max() < V[0]
    V = simulate(critical_state(W), W, 1, gamma, rounds, beyond).V
    assert V[-80:].max() > V[0]
    measured = delayed_tolerance(critical_state(W), W, 1, gamma, rounds)
    assert measured == pytest.approx(below * gamma)


@pytest.mark.parametrize("p", [0.3, 0.5, 0.75, 0.9])
def test_two_workers_meet_when_the_equation_says(p):
    """For the difference z' = −2γw z^(2p−1), so z^(2−2p) falls by 2γw(2 − 2p) in a unit of time."""
    W, gamma, tol = mixing_matrix(ring(2)), 0.7, 1e-8
    X0 = torch.tensor([[0.9], [-0.3]])
    flow = integrate(X0, gamma * W, p, t_end=100, tol=tol, samples=50)
    speed = 2 * gamma * 0.5 * (2 - 2 * p)
    share = 1 - tol ** (1 - p)
    assert flow.consensus_time == pytest.approx(share * 1.2 ** (2 - 2 * p) / speed, rel=1e-4)
    z = (1.2 ** (2 - 2 * p) - speed * flow.times).clamp_min(0) ** (1 / (2 - 2 * p))
    assert torch.allclose(flow.V, z**2 / 2, atol=1e-4)
    assert float(flow.V[-1]) == pytest.approx(tol * float(flow.V[0]), rel=1e-3)


def test_continuous_linear_consensus_is_the_matrix_exponential():
    W = mixing_matrix(ring(6))
    X0 = gaussian(6, 2) + 5
    flow = integrate(X0, 2 * W, 1, t_end=3, tol=1e-12, samples=5)
    assert flow.consensus_time == math.inf
    assert float(flow.times[-1]) == pytest.approx(3)
    for t, V in zip(flow.times, flow.V, strict=True):
        exact = torch.linalg.matrix_exp(-2 * t * laplacian(W)) @ X0
        assert pytest.approx(synchronization_index(exact).item(), rel=1e-4) == V


def test_a_least_squares_problem_has_its_constants_gradients_and_noise():
    """f_1 = (x² + 4y²)/4 − …: Hessians diag(1, 4)/2 and diag(9, 1)/2."""
    A = torch.tensor([[[1.0, 0], [0, 2]], [[3, 0], [0, 1]]], dtype=torch.float64)
    b = torch.tensor([[1.0, 2], [3, 1]], dtype=torch.float64)
    problem = LeastSquares(A, b)
    assert (problem.L, problem.mu) == pytest.approx((4.5, 0.5))
    assert problem.optimum.tolist() == pytest.approx([1, 1])
    assert problem.gap(torch.zeros(2, dtype=torch.float64)).item() == pytest.approx(15 / 8)
    problem = gaussian_problem(3, 20, 4, noise=0.5, heterogeneity=1.0, seed=0)
    X = gaussian(3, 4)[:, None].requires_grad_()
    losses = ((problem.A @ X[:, 0, :, None])[..., 0] - problem.b).square() / 2
    (full,) = torch.autograd.grad(losses.mean(1).sum(), X, retain_graph=True)
    samples = [torch.full((3, 1, 1), k) for k in range(20)]
    gradients = torch.stack([problem.gradient(X.detach(), each).squeeze(1) for each in samples])
    assert torch.allclose(gradients.mean(0), full[:, 0])
    assert torch.allclose(problem.full_gradient(X.detach()), full)
    variance = (gradients - full[:, 0]).square().sum(-1).mean(0)
    assert torch.allclose(problem.noise(X.detach(), 1)[:, 0], variance)
    assert torch.allclose(problem.noise(X.detach(), 4)[:, 0], variance / 4)


@pytest.mark.parametrize("settings", [{}, {"W": TWO, "gamma": 0.3, "p": 0.8}])
def test_sgd_equals_algorithm_1_term_by_term(settings):
    problem = gaussian_problem(2, 30, 3, noise=0.5, heterogeneity=1.0, seed=1)
    a = bounds.step_offset(problem.mu, problem.L)
    options = SimpleNamespace(sgd_gamma=1.0, batch_size=2, repeats=3, seed=5)
    run = sgd(options, problem, [1, 12], a=a, **settings)
    stream = numpy_stream(5, "batches")
    X = torch.zeros(3, 2, 3, dtype=torch.float64)
    total, S = torch.zeros(3, 3, dtype=torch.float64), 0.0
    for t in range(12):
        w = (a + t) ** 2
        total, S = total + w * X.mean(1), S + w
        assert torch.allclose(run.V[t], synchronization_index(X).mean(), atol=1e-14)
        batches = stream.integers(30, size=(2, 3, 2))
        for repeat in range(3):
            x = X[repeat].clone()
            for i in range(2):
                rows = batches[i, repeat]
                A, b = problem.A[i, rows], problem.b[i, rows]
                X[repeat, i] -= 4 / (problem.mu * (a + t)) * A.T @ (A @ x[i] - b) / 2
            if "W" in settings:
                z = X[repeat, 1] - X[repeat, 0]
                pull = 0.3 * 0.5 * z.sign() * z.abs() ** 0.6
                X[repeat, 0] += pull
                X[repeat, 1] -= pull
            else:
                X[repeat] = X[repeat].mean(0)
    A, b = problem.A.flatten(0, 1), problem.b.flatten()
    at_mean, least = (((x @ A.T - b) ** 2).mean(-1) / 2 for x in (total / S, problem.optimum))
    assert run.gap[-1] == pytest.approx((at_mean - least).mean().item())
    assert run.T == [1, 12]
    assert run.gap[0] == pytest.approx(problem.gap(torch.zeros(3).double()).item())
