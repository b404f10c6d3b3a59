"""ADMM by gradient steps: DLM with one of them, ADMM with many; its fixed point is the optimum."""

import by_worker
import numpy as np
import pytest
from test_corrections import LR, A, B, grad, trained

from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.topologies.static import chain, ring

RING = mixing_matrix(ring(by_worker.N))
CHAIN = mixing_matrix(chain(by_worker.N))


def dlm(W, grad, steps, lr, gamma):
    """Decentralized linearized ADMM: penalties c_ij = γ W_ij/η, and ρ_i so that the step is η."""
    n = by_worker.N
    c = {(i, j): gamma * W[i][j] / lr for i in range(n) for j in range(n) if i != j}
    rho = {i: 1 / lr - 2 * sum(c[i, j] for j in range(n) if j != i) for i in range(n)}
    assert min(rho.values()) >= 0
    x, multiplier = by_worker.start(), by_worker.start()
    for _ in range(steps):
        apart = {i: sum(c[i, j] * (x[i] - x[j]) for j in x if j != i) for i in x}
        multiplier = {i: multiplier[i] + apart[i] for i in x}
        x = {
            i: x[i]
            - (grad(i, x[i]) + apart[i] + multiplier[i])
            / (2 * sum(c[i, j] for j in x if j != i) + rho[i])
            for i in x
        }
    return np.stack(list(x.values()))


def admm(W, rounds, lr, gamma):
    """ADMM with proximal terms: each worker minimizes its augmented objective exactly."""
    n, x, multiplier = by_worker.N, by_worker.start(), by_worker.start()
    c = {(i, j): gamma * W[i][j] / lr for i in range(n) for j in range(n) if i != j}
    rho = {i: 2 * gamma / lr - 2 * sum(c[i, j] for j in range(n) if j != i) for i in range(n)}
    for _ in range(rounds):
        multiplier = {
            i: multiplier[i] + sum(c[i, j] * (x[i] - x[j]) for j in x if j != i) for i in x
        }
        new = {}
        for i in x:
            # The gradient of the augmented objective at z: H z − h.
            total = sum(c[i, j] for j in x if j != i)
            H = A[i].T @ A[i] / 8 + (2 * total + rho[i]) * np.eye(by_worker.D)
            h = A[i].T @ B[i] / 8 - multiplier[i] + rho[i] * x[i]
            h = h + sum(c[i, j] * (x[i] + x[j]) for j in x if j != i)
            new[i] = np.linalg.solve(H, h)
        x = new
    return np.stack(list(x.values()))


@pytest.mark.parametrize("W", [RING, CHAIN], ids=["ring", "chain"])
def test_with_one_step_it_is_dlm(W):
    found = trained("admm", W, 50, lr=LR, gamma=0.4, p=1.0, local_steps=1)
    assert np.allclose(found, dlm(W.numpy(), grad, 50, LR, 0.4), rtol=0, atol=1e-9)


@pytest.mark.parametrize("W", [RING, CHAIN], ids=["ring", "chain"])
def test_with_many_steps_it_is_admm(W):
    found = trained("admm", W, 8 * 60, lr=LR, gamma=0.4, p=1.0, local_steps=60)
    expected = admm(W.numpy(), 8, LR, 0.4)
    assert np.allclose(found, expected, rtol=0, atol=1e-9)
    assert np.ptp(expected, axis=0).max() > 0.01


@pytest.mark.parametrize("p", [1.0, 0.9])
def test_with_one_step_it_is_extra_at_twice_its_rate(p):
    found = trained("admm", RING, 50, lr=LR, gamma=0.4, p=p, local_steps=1)
    expected = trained("extra", RING, 50, lr=LR, gamma=0.8, p=p)
    assert np.allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("local_steps", "coupling", "p"), [(1, "power", 1.0), (5, "capped", 0.8), (5, "clipped", 1.0)]
)
def test_its_fixed_point_is_the_optimum(local_steps, coupling, p):
    given = {"coupling": coupling, "p": p, "cap": 0.5, "radius": 1.0}
    found = trained("admm", RING, 2500, lr=LR, gamma=0.4, local_steps=local_steps, **given)
    assert np.abs(found - by_worker.solution(A, B)).max() < 1e-7
