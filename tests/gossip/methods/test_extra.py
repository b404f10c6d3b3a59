"""EXTRA equals its slow reference, is exact, and is exact diffusion in another order."""

import by_worker
import numpy as np
import pytest
import torch
from stepping import Stepping
from test_corrections import LR, A, B, grad, trained

from ngo.gossip.mixing_matrix import metropolis_hastings, mixing_matrix
from ngo.gossip.topologies.static import complete, ring

RING = mixing_matrix(ring(by_worker.N))
PAIRS = metropolis_hastings(by_worker.N, [(0, 1), (2, 3), (4, 5)]).dense()


def reference(W, grad, steps, lr, gamma, p, pull=by_worker.power):
    """Algorithm 1, with pull(x) in the place of W x and W̃ = (I + W)/2."""
    before = by_worker.start()
    g = {i: grad(i, before[i]) for i in before}
    mixed = by_worker.pulled(W, before, gamma, p, pull)
    x = {i: mixed[i] - lr * g[i] for i in before}
    for _ in range(steps - 1):
        new = {i: grad(i, x[i]) for i in x}
        pulled = by_worker.pulled(W, x, gamma, p, pull)
        x, before, mixed, g = (
            {i: x[i] + pulled[i] - (before[i] + mixed[i]) / 2 - lr * (new[i] - g[i]) for i in x},
            x,
            pulled,
            new,
        )
    return np.stack(list(x.values()))


@pytest.mark.parametrize("p", [1.0, 0.9])
@pytest.mark.parametrize("graph", [ring, complete])
def test_it_is_its_reference(graph, p):
    W = mixing_matrix(graph(by_worker.N))
    expected = reference(W.numpy(), grad, 50, LR, 0.4, p)
    assert np.allclose(trained("extra", W, 50, lr=LR, gamma=0.4, p=p), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("coupling", "W"), [("capped", RING), ("implicit", PAIRS)])
def test_with_another_coupling_it_is_its_reference(coupling, W):
    found = trained("extra", W, 50, coupling=coupling, lr=LR, gamma=0.4, p=0.8, cap=0.5)
    pull = getattr(by_worker, coupling)
    expected = reference(W.numpy(), grad, 50, LR, 0.4, 0.8, pull)
    assert np.allclose(found, expected, rtol=0, atol=1e-6)


def test_it_is_exact_where_gossip_is_biased():
    best = by_worker.solution(A, B)
    biased = trained("dsgd", RING, 1500, lr=LR, gamma=1.0, p=1.0)
    assert np.abs(biased - best).max() > 0.09
    found = trained("extra", RING, 1500, coupling="capped", lr=LR, gamma=0.8, p=0.8, cap=0.5)
    assert np.abs(found - best).max() < 1e-8


def test_half_a_pull_of_it_is_exact_diffusion_with_the_same_gradients():
    start = torch.zeros(by_worker.N, by_worker.D).double()
    extra, diffusion = (
        Stepping(name, start, RING, lr=LR, gamma=1.0, p=1.0)
        for name in ("extra", "exact_diffusion")
    )
    for _ in range(50):
        rows = diffusion.X.numpy()
        G = torch.tensor(np.stack([grad(i, row) for i, row in enumerate(rows)]))
        extra.advance(G)
        diffusion.advance(G)
        half = (extra.X + RING @ extra.X) / 2
        assert torch.allclose(diffusion.X, half, rtol=0, atol=1e-10)
        assert not torch.allclose(diffusion.X, extra.X, rtol=0, atol=1e-4)
