"""Methods that correct the drift of workers equal slow references, and have no bias."""

import by_worker
import numpy as np
import pytest
import torch
from stepping import Stepping

from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.mixing_matrix import metropolis_hastings, mixing_matrix, outgoing_shares
from ngo.gossip.topologies.static import complete, ring

METHODS = ("d2", "exact_diffusion", "gradient_tracking", "quasi_global")
LR = 0.05
A, B = by_worker.problem()


def grad(i, x):
    return by_worker.gradient(A, B, i, x)


def trained(method, W, steps, **values):
    """The workers' states after ``steps`` steps on the least squares problem."""
    stepping = Stepping(method, torch.zeros(by_worker.N, by_worker.D).double(), W, **values)
    for _ in range(steps):
        rows = stepping.X.numpy()
        stepping.advance(torch.tensor(np.stack([grad(i, row) for i, row in enumerate(rows)])))
    return stepping.X.numpy()


@pytest.mark.parametrize("p", [1.0, 0.9])
@pytest.mark.parametrize("graph", [ring, complete])
@pytest.mark.parametrize("method", METHODS)
def test_a_method_is_its_reference(method, graph, p):
    W = mixing_matrix(graph(by_worker.N))
    found = trained(method, W, 50, lr=LR, gamma=0.4, p=p, qg_momentum=0.9)
    expected = getattr(by_worker, method)(W.numpy(), grad, 50, LR, 0.4, p)
    assert np.allclose(found, np.stack(list(expected.values())), rtol=0, atol=1e-9)


@pytest.mark.parametrize("p", [0.8, 0.5])
@pytest.mark.parametrize("coupling", ["capped", "implicit"])
@pytest.mark.parametrize("method", METHODS)
def test_a_method_with_another_coupling_is_its_reference(method, coupling, p):
    """And not that of the coupling ``power``: the other limits act."""
    pairs = metropolis_hastings(by_worker.N, [(0, 1), (2, 3), (4, 5)]).dense()
    W = pairs if COUPLINGS[coupling].matching else mixing_matrix(ring(by_worker.N))
    given = {"lr": LR, "gamma": 0.4, "p": p, "qg_momentum": 0.9, "cap": 0.5}
    found = trained(method, W, 50, coupling=coupling, **given)
    reference, pull = getattr(by_worker, method), getattr(by_worker, coupling)
    expected = reference(W.numpy(), grad, 50, LR, 0.4, p, pull)
    assert np.allclose(found, np.stack(list(expected.values())), rtol=0, atol=1e-6)
    other = reference(W.numpy(), grad, 50, LR, 0.4, p)
    assert np.abs(found - np.stack(list(other.values()))).max() > 1e-3


@pytest.mark.parametrize("p", [1.0, 0.9])
def test_quasi_global_momentum_with_two_coefficients_is_its_reference(p):
    W = mixing_matrix(ring(by_worker.N))
    found = trained("quasi_global_apart", W, 50, lr=LR, gamma=0.4, p=p, qg_beta=0.5, qg_mu=0.8)
    expected = by_worker.quasi_global(W.numpy(), grad, 50, LR, 0.4, p, mu=0.8, beta=0.5)
    assert np.allclose(found, np.stack(list(expected.values())), rtol=0, atol=1e-9)


@pytest.mark.parametrize("p", [1.0, 0.8])
def test_exact_diffusion_takes_the_steps_of_d2_at_half_its_rate(p):
    W = mixing_matrix(ring(by_worker.N))
    half = trained("d2", W, 50, lr=LR, gamma=0.3, p=p)
    found = trained("exact_diffusion", W, 50, lr=LR, gamma=0.6, p=p)
    assert np.allclose(found, half, rtol=0, atol=1e-9)


def test_push_sum_is_its_reference():
    n = by_worker.N
    W = outgoing_shares(n, [*((i, (i + 1) % n) for i in range(n)), (0, 2), (3, 1)]).dense()
    expected = by_worker.push_sum(W.numpy(), grad, 50, LR)
    found = trained("push_sum", W, 50, lr=LR)
    assert np.allclose(found, np.stack(list(expected.values())), rtol=0, atol=1e-9)
