"""Both orders of half step and pull, against steps worker by worker in NumPy."""

import numpy as np
import pytest
import torch
from by_worker import D, N, gradient, problem, pulled
from stepping import Stepping, ring_matrix

from ngo.gossip.method import ORDERS

ETA, GAMMA, STEPS, MASS = 0.05, 0.3, 8, 0.9


def worker_by_worker(order, p, momentum, decay, A, b, W, x):
    m = {i: np.zeros(D) for i in x}
    for _ in range(STEPS):
        g = {i: gradient(A, b, i, x[i]) for i in x}
        if order == "combine_then_adapt":
            x = pulled(W, x, GAMMA, p)
        for i in x:
            m[i] = momentum * m[i] + g[i] + decay * x[i]
        x = {i: x[i] - ETA * m[i] for i in x}
        if order == "adapt_then_combine":
            x = pulled(W, x, GAMMA, p)
    return np.stack([x[i] for i in range(N)])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("method", "p"), [("gossip", 1.0), ("ngo", 0.8)])
@pytest.mark.parametrize(
    ("rule", "momentum", "decay"), [("sgd", 0.0, 0.0), ("momentum", MASS, 0.0), ("sgd", 0.0, 0.1)]
)
def test_steps_are_those_worker_by_worker(order, method, p, rule, momentum, decay):
    A, b = problem()
    X = torch.randn(N, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    W = ring_matrix(N)
    stepping = Stepping(
        method, X, W, rule=rule, order=order, p=p, lr=ETA, gamma=GAMMA, momentum=MASS,
        weight_decay=decay,
    )  # fmt: skip
    for _ in range(STEPS):
        at = stepping.X.numpy().copy()
        G = np.stack([gradient(A, b, i, at[i]) for i in range(N)])
        assert stepping.advance(torch.from_numpy(G)) == 2 * N
    start = {i: X[i].numpy() for i in range(N)}
    expected = worker_by_worker(order, p, momentum, decay, A, b, W.numpy(), start)
    assert np.allclose(stepping.X.numpy(), expected, rtol=1e-9, atol=1e-12)


def test_a_failed_exchange_keeps_the_gradient():
    def broken(*given, **named):
        raise ConnectionError

    X, G = torch.ones(5, 3), torch.ones(5, 3)
    for order in ORDERS:
        stepping = Stepping("gossip", X, ring_matrix(), order=order)
        stepping.network.pull = broken
        with pytest.raises(ConnectionError):
            stepping.advance(G)
        assert torch.equal(stepping.X, X - 0.1 * G)
