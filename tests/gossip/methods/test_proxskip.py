"""ProxSkip equals its slow reference, is D² at probability 1, and is exact at lower ones."""

import by_worker
import numpy as np
import pytest
import torch
from stepping import Stepping
from test_corrections import LR, A, B, grad, trained

from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.topologies.static import complete, ring

RING = mixing_matrix(ring(by_worker.N))


def exchanges(q, steps, seed=0):
    """Whether the workers exchange in each step."""
    coins = (torch_stream(seed, "exchanges", t) for t in range(steps))
    return [float(torch.rand((), generator=each, dtype=torch.float64)) < q for each in coins]


def reference(W, grad, steps, lr, gamma, p, q, pull=by_worker.power):
    x, h = by_worker.start(), by_worker.start()
    for exchange in exchanges(q, steps):
        half = {i: x[i] - lr * (grad(i, x[i]) - h[i]) for i in x}
        x = by_worker.pulled(W, half, gamma, p, pull) if exchange else half
        h = {i: h[i] + q / lr * (x[i] - half[i]) for i in x}
    return np.stack(list(x.values()))


@pytest.mark.parametrize(("coupling", "p"), [("power", 1.0), ("power", 0.9), ("capped", 0.8)])
@pytest.mark.parametrize("q", [0.3, 1.0])
def test_it_is_its_reference(q, coupling, p):
    given = {"coupling": coupling, "cap": 0.5, "exchange_probability": q}
    found = trained("proxskip", RING, 50, lr=LR, gamma=0.4, p=p, **given)
    pull = getattr(by_worker, coupling)
    expected = reference(RING.numpy(), grad, 50, LR, 0.4, p, q, pull)
    assert np.allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("p", [1.0, 0.8])
def test_with_probability_1_it_is_d2(p):
    found = trained("proxskip", RING, 50, lr=LR, gamma=0.4, p=p, exchange_probability=1.0)
    expected = trained("d2", RING, 50, lr=LR, gamma=0.4, p=p)
    assert np.allclose(found, expected, rtol=0, atol=1e-9)


def test_it_is_exact_with_a_low_probability():
    found = trained("proxskip", RING, 4000, lr=LR, gamma=0.5, p=1.0, exchange_probability=0.1)
    assert np.abs(found - by_worker.solution(A, B)).max() < 1e-8


def test_on_a_complete_graph_an_exchange_is_the_mean():
    """Scaffnew: after an exchange all workers have the mean model; without one, each its own."""
    steps, q = 20, 0.4
    X = torch.randn(by_worker.N, 3, generator=torch_stream(0, "X"), dtype=torch.float64)
    W = mixing_matrix(complete(by_worker.N))
    stepping = Stepping("proxskip", X, W, lr=0.1, gamma=1.0, p=1.0, exchange_probability=q)
    for t, exchange in enumerate(exchanges(q, steps)):
        G = torch.randn(X.shape, generator=torch_stream(t, "G"), dtype=torch.float64)
        mean = stepping.X.mean(0) - 0.1 * G.mean(0)
        assert stepping.advance(G) == exchange * by_worker.N * (by_worker.N - 1)
        assert torch.allclose(stepping.X.mean(0), mean)
        assert torch.allclose(stepping.X, mean.expand_as(X)) == exchange
