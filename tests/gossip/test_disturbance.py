"""Disturbed rounds against closed forms of linear gossip."""

from itertools import repeat
from types import SimpleNamespace

import numpy as np
import torch
from numpy.polynomial import chebyshev
from stepping import ring_matrix

from ngo.common.registries import COUPLINGS
from ngo.common.seeding import torch_stream
from ngo.gossip.consensus_dynamics import Chebyshev, Disturbance, disturbed_rounds

N, D, GAMMA = 6, 40, 0.7
W = ring_matrix(N)
X0 = torch.randn(N, D, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def linear(X, W, at, p=1.0):
    return COUPLINGS["power"].step(X, W, GAMMA, SimpleNamespace(p=p), at=at)


def index(disturbance, rounds, take=linear, X=X0, seed=0):
    return disturbed_rounds(X, repeat(W, rounds), take, disturbance, seed).numpy()


def modes():
    """Eigenvalues of I − γ(I − W) but the first, and their eigenvectors."""
    values, vectors = np.linalg.eigh(W.numpy())
    order = np.argsort(values)[:-1]
    return 1 - GAMMA + GAMMA * values[order], vectors[:, order]


def test_a_delay_is_the_consensus_dynamics_whose_first_rounds_are_silent():
    actual = index(Disturbance(delay=3), 20)
    assert np.allclose(actual[:4], actual[0])
    # States before the first equal it; then a round compares what it was three rounds before.
    states = [X0] * 4
    for t in range(3, 20):
        states.append(linear(states[-1], W, states[t - 3]))
    V = [float((X - X.mean(0)).square().sum()) for X in states[4:]]
    assert np.allclose(actual[4:], V, rtol=1e-9)


def test_drift_and_noise_leave_the_distances_of_the_closed_forms():
    """In each mode, x = μ (x + b): V is Σ (μ / (1 − μ))² b²."""
    actual = index(Disturbance(drift=0.1), 400)[-1]
    mu, vectors = modes()
    still = index(Disturbance(drift=0.1), 1, lambda X, W, at: X - X0, X=X0)
    b = torch.randn(N, D, generator=torch_stream(0, "drift"), dtype=torch.float64)
    b = 0.1 * (b - b.mean(0)).numpy()
    assert np.isclose(still[-1], (b**2).sum())
    expected = ((mu / (1 - mu))[:, None] * (vectors.T @ b)) ** 2
    assert np.isclose(actual, expected.sum(), rtol=1e-9)
    # A mode's variance is μ²s²/(1 − μ²); the mean over 400 rounds is within 6 % of it.
    V = index(Disturbance(noise=0.1), 500)[100:]
    mu, _ = modes()
    expected = D * 0.01 * (mu**2 / (1 - mu**2)).sum()
    assert np.isclose(V.mean(), expected, rtol=0.06)


def test_failing_links_conserve_the_mean_and_compression_sends_the_largest_changes():
    seen = []

    def take(X, W, at):
        seen.append(W)
        return linear(X, W, at)

    actual = index(Disturbance(loss=0.4), 300, take)
    stacked = torch.stack(seen)
    assert torch.allclose(stacked.sum(1), torch.ones(300, N).double())
    assert torch.equal(stacked, stacked.mT)
    kept = (stacked[:, W.triu(1) > 0] > 0).double().mean()
    assert abs(kept - 0.6) < 0.05  # 1,800 edges: 4 standard errors
    assert actual[100] > index(Disturbance(), 100)[-1]
    assert actual[-1] < 1e-12
    states = []

    def take(X, W, at):
        states.append(at.clone())
        return X

    index(Disturbance(kept=0.25), 4, take)
    assert ((states[0] != 0).sum(1) == D / 4).all()
    sent = X0.abs() >= X0.abs().topk(D // 4).values[:, -1:]
    assert torch.equal(states[0], X0 * sent)
    assert torch.equal(states[3], X0)


def test_accelerated_gossip_applies_chebyshev_polynomials():
    rounds = 7
    mu, vectors = modes()
    sigma = np.abs(mu).max()
    X = torch.tensor(vectors)
    take = Chebyshev(W, GAMMA)
    for _ in range(rounds):
        X = take(X, W, X)
    degree = [0] * rounds + [1]
    factor = chebyshev.chebval(mu / sigma, degree) / chebyshev.chebval(1 / sigma, degree)
    assert np.allclose(X.numpy(), vectors * factor, atol=1e-12)
