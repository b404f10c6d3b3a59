import math
from types import SimpleNamespace

import pytest
import torch
from conftest import gaussian

from ngo.common.seeding import torch_stream
from ngo.gossip.bounds import delay_limit
from ngo.gossip.consensus import delayed_tolerance, integrate, simulate, synchronization_index
from ngo.gossip.mixing_matrix import metropolis_hastings, mixing_matrix
from ngo.gossip.spectrum import laplacian
from ngo.gossip.topologies.static import complete, ring
from ngo.gossip.topology import Mixing
from ngo.native.pool import one_intra_op_thread


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with one_intra_op_thread():
        yield


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
def test_trajectory_has_every_state_and_conserves_the_mean(p):
    X0 = gaussian(10, 3)
    run = simulate(X0, mixing_matrix(ring(10)), p, gamma=0.02, rounds=40)
    assert run.states.shape == (41, 10, 3)
    assert torch.equal(run.states[0], X0)
    assert torch.allclose(run.states.mean(1), X0.mean(0).expand(41, 3), atol=1e-13)
    assert torch.equal(run.V, synchronization_index(run.states))


def test_a_graph_stream_that_ends_early_is_an_error():
    W = mixing_matrix(ring(3))
    with pytest.raises(ValueError, match="mixing matrices ended after 2 of 3"):
        simulate(gaussian(3), [W, W], p=1, gamma=0.1, rounds=3)


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


@pytest.mark.parametrize(("p", "delay"), [(0.5, 0), (0.9, 3), (1, 3)])
def test_random_graphs_conserve_the_mean_and_synchronize(p, delay):
    mixing = Mixing("random", 10, SimpleNamespace(u=0.4), torch_stream(0, "graphs"))
    X0 = gaussian(10, 3)
    run = simulate(X0, map(mixing.at, range(400)), p, 0.05, 400, delay)
    assert torch.allclose(run.states.mean(1), X0.mean(0).expand(401, 3), atol=1e-13)
    assert run.V[-1] < 0.01 * run.V[0]


def critical_state(W):
    """The eigenvector of λ_n, which a delay makes unstable first."""
    return torch.linalg.eigh(laplacian(W))[1][:, -1:]


@pytest.mark.parametrize("graph", [ring(2), ring(7), complete(6)])
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


def test_a_sublinear_coupling_keeps_swinging_under_any_delay():
    """Its slope at 0 is infinite: V stays above 0 far below the limit of the linear case."""
    W = mixing_matrix(ring(6))
    delay = round(0.5 * delay_limit(W) / 0.1)
    left = {p: simulate(critical_state(W), W, p, 0.1, 500, delay).V[-50:].max() for p in (0.75, 1)}
    assert left[1] < 1e-12
    assert left[0.75] > 1e-3


def test_no_delay_is_tolerated_where_rounds_diverge():
    W = mixing_matrix(ring(6))
    assert delayed_tolerance(critical_state(W), W, 1, gamma=2.0, rounds=50) == -2.0


@pytest.mark.parametrize("p", [0.3, 0.5, 0.75, 0.9])
def test_two_workers_meet_when_the_equation_says(p):
    """For the difference z' = −2γw z^(2p−1), so z^(2−2p) falls by 2γw(2 − 2p) in a unit of time."""
    W, gamma, tol = mixing_matrix(ring(2)), 0.7, 1e-8
    flow = integrate(torch.tensor([[0.9], [-0.3]]), W, p, gamma, t_end=100, tol=tol, samples=50)
    speed = 2 * gamma * 0.5 * (2 - 2 * p)
    share = 1 - tol ** (1 - p)
    assert flow.consensus_time == pytest.approx(share * 1.2 ** (2 - 2 * p) / speed, rel=1e-4)
    z = (1.2 ** (2 - 2 * p) - speed * flow.times).clamp_min(0) ** (1 / (2 - 2 * p))
    assert torch.allclose(flow.V, z**2 / 2, atol=1e-4)
    assert float(flow.V[-1]) == pytest.approx(tol * float(flow.V[0]), rel=1e-3)


def test_continuous_linear_consensus_is_the_matrix_exponential():
    W = mixing_matrix(ring(6))
    X0 = gaussian(6, 2) + 5
    flow = integrate(X0, W, 1, 2.0, t_end=3, tol=1e-12, samples=5)
    assert flow.consensus_time is None
    assert float(flow.times[-1]) == pytest.approx(3)
    for t, state in zip(flow.times, flow.states, strict=True):
        exact = torch.linalg.matrix_exp(-2 * t * laplacian(W)) @ X0
        assert torch.allclose(state, exact, atol=1e-4)
    assert torch.allclose(flow.V, synchronization_index(flow.states), rtol=1e-6)


@pytest.mark.parametrize("p", [0.6, 0.9, 1.5])
def test_short_rounds_tend_to_continuous_time(p):
    W = mixing_matrix(ring(5))
    X0 = gaussian(5, 2)
    flow = integrate(X0, W, p, t_end=1, tol=1e-8)
    rounds = simulate(X0, W, p, 1e-3, 1000)
    assert torch.allclose(flow.states[-1], rounds.states[-1], atol=3e-3)


def test_a_flow_from_consensus_is_there_at_once_and_one_in_pieces_never():
    W = mixing_matrix(ring(4))
    assert integrate(torch.ones(4, 2), W, 0.9, t_end=1, tol=1e-6).consensus_time == 0
    pieces = metropolis_hastings(4, [(0, 1), (2, 3)]).dense()
    flow = integrate(gaussian(4), pieces, 0.75, t_end=50, tol=1e-6)
    assert flow.consensus_time is None
    assert float(flow.times[-1]) == pytest.approx(50)
