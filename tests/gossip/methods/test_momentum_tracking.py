"""Momentum tracking equals its slow reference, and gradient tracking without momentum."""

import by_worker
import numpy as np
import pytest
from test_corrections import LR, A, B, grad, trained

from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.topologies.static import ring

RING = mixing_matrix(ring(by_worker.N))


def reference(W, grad, steps, lr, gamma, p, mu, combines_first, pull=by_worker.power):
    """Algorithm 1, with corrections c; in the paper, workers combine first."""
    x, u, c = by_worker.start(), by_worker.start(), by_worker.start()
    for _ in range(steps):
        u = {i: mu * u[i] + grad(i, x[i]) for i in x}
        if combines_first:
            pulled = by_worker.pulled(W, x, gamma, p, pull)
            x = {i: pulled[i] - lr * (u[i] - c[i]) for i in x}
        else:
            x = by_worker.pulled(W, {i: x[i] - lr * (u[i] - c[i]) for i in x}, gamma, p, pull)
        mixed = by_worker.pulled(W, {i: c[i] - u[i] for i in x}, gamma, 1)
        c = {i: mixed[i] + u[i] for i in x}
    return np.stack(list(x.values()))


@pytest.mark.parametrize("order", ["combine_then_adapt", "adapt_then_combine"])
@pytest.mark.parametrize(("coupling", "p"), [("power", 1.0), ("power", 0.9), ("capped", 0.8)])
def test_it_is_its_reference(coupling, p, order):
    given = {"coupling": coupling, "cap": 0.5, "order": order, "tracked_momentum": 0.8}
    found = trained("momentum_tracking", RING, 50, lr=0.02, gamma=0.4, p=p, **given)
    pull, first = getattr(by_worker, coupling), order == "combine_then_adapt"
    expected = reference(RING.numpy(), grad, 50, 0.02, 0.4, p, 0.8, first, pull)
    assert np.allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("p", [1.0, 0.9])
def test_without_momentum_it_is_gradient_tracking(p):
    found = trained("momentum_tracking", RING, 50, lr=LR, gamma=0.4, p=p, tracked_momentum=0.0)
    expected = trained("gradient_tracking", RING, 50, lr=LR, gamma=0.4, p=p)
    assert np.allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", ["combine_then_adapt", "adapt_then_combine"])
def test_it_is_exact_where_gossip_with_momentum_is_biased(order):
    best = by_worker.solution(A, B)
    biased = trained("gossip", RING, 1000, lr=LR, gamma=0.8, p=1.0, rule="momentum", momentum=0.9)
    assert np.abs(biased - best).max() > 0.3
    given = {"order": order, "tracked_momentum": 0.9}
    found = trained("momentum_tracking", RING, 1000, lr=LR, gamma=0.8, p=1.0, **given)
    assert np.abs(found - best).max() < 1e-8
