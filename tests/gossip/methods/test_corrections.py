"""Methods that correct the drift of workers equal slow references, and have no bias."""

import by_worker
import numpy as np
import pytest
import torch
from stepping import Stepping

from ngo.common.seeding import torch_stream
from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.mixing_matrix import metropolis_hastings, mixing_matrix, outgoing_shares
from ngo.gossip.topologies.static import chain, complete, ring

METHODS = ("d2", "exact_diffusion", "gradient_tracking", "quasi_global")
LR = 0.05
A, B = by_worker.problem()


def grad(i, x):
    return by_worker.gradient(A, B, i, x)


def trained(method, W, steps, **values):
    """The workers' states after ``steps`` steps on the least squares problem."""
    stepping = Stepping(method, torch.zeros(by_worker.N, by_worker.D).double(), W, **values)
    for _ in range(steps):
        stepping.advance(gradients(stepping.X))
    return stepping.X.numpy()


def gradients(X):
    """Those of all workers, at their states."""
    residuals = np.einsum("nij,nj->ni", A, X.numpy()) - B
    return torch.tensor(np.einsum("nij,ni->nj", A, residuals) / len(B[0]))


@pytest.mark.parametrize(("graph", "p"), [(ring, 0.9), (complete, 1.0)])
@pytest.mark.parametrize("method", METHODS)
def test_a_method_is_its_reference(method, graph, p):
    W = mixing_matrix(graph(by_worker.N))
    found = trained(method, W, 50, lr=LR, gamma=0.4, p=p, qg_momentum=0.9)
    expected = getattr(by_worker, method)(W.numpy(), grad, 50, LR, 0.4, p)
    assert np.allclose(found, np.stack(list(expected.values())), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("coupling", "p"), [("capped", 0.8), ("implicit", 0.5)])
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


RING = mixing_matrix(ring(by_worker.N))
PAIRS = metropolis_hastings(by_worker.N, [(0, 1), (2, 3), (4, 5)]).dense()


def extra(W, grad, steps, lr, gamma, p, pull=by_worker.power):
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


@pytest.mark.parametrize(("graph", "p"), [(ring, 0.9), (complete, 1.0)])
def test_extra_is_its_reference(graph, p):
    W = mixing_matrix(graph(by_worker.N))
    expected = extra(W.numpy(), grad, 50, LR, 0.4, p)
    assert np.allclose(trained("extra", W, 50, lr=LR, gamma=0.4, p=p), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("coupling", "W"), [("capped", RING), ("implicit", PAIRS)])
def test_extra_with_another_coupling_is_its_reference(coupling, W):
    found = trained("extra", W, 50, coupling=coupling, lr=LR, gamma=0.4, p=0.8, cap=0.5)
    pull = getattr(by_worker, coupling)
    expected = extra(W.numpy(), grad, 50, LR, 0.4, 0.8, pull)
    assert np.allclose(found, expected, rtol=0, atol=1e-6)


def test_extra_is_exact_where_gossip_is_biased():
    best = by_worker.solution(A, B)
    biased = trained("dsgd", RING, 500, lr=LR, gamma=1.0, p=1.0)
    assert np.abs(biased - best).max() > 0.09
    found = trained("extra", RING, 1500, coupling="capped", lr=LR, gamma=0.8, p=0.8, cap=0.5)
    assert np.abs(found - best).max() < 1e-8


def test_half_a_pull_of_extra_is_exact_diffusion_with_the_same_gradients():
    start = torch.zeros(by_worker.N, by_worker.D).double()
    extra, diffusion = (
        Stepping(name, start, RING, lr=LR, gamma=1.0, p=1.0)
        for name in ("extra", "exact_diffusion")
    )
    for _ in range(50):
        G = gradients(diffusion.X)
        extra.advance(G)
        diffusion.advance(G)
        half = (extra.X + RING @ extra.X) / 2
        assert torch.allclose(diffusion.X, half, rtol=0, atol=1e-10)
        assert not torch.allclose(diffusion.X, extra.X, rtol=0, atol=1e-4)


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
def test_admm_with_one_step_is_dlm(W):
    found = trained("admm", W, 50, lr=LR, gamma=0.4, p=1.0, local_steps=1)
    assert np.allclose(found, dlm(W.numpy(), grad, 50, LR, 0.4), rtol=0, atol=1e-9)


@pytest.mark.parametrize("W", [RING, CHAIN], ids=["ring", "chain"])
def test_admm_with_many_steps_is_its_reference(W):
    found = trained("admm", W, 8 * 60, lr=LR, gamma=0.4, p=1.0, local_steps=60)
    expected = admm(W.numpy(), 8, LR, 0.4)
    assert np.allclose(found, expected, rtol=0, atol=1e-9)
    assert np.ptp(expected, axis=0).max() > 0.01


@pytest.mark.parametrize("p", [1.0, 0.9])
def test_admm_with_one_step_is_extra_at_twice_its_rate(p):
    found = trained("admm", RING, 50, lr=LR, gamma=0.4, p=p, local_steps=1)
    expected = trained("extra", RING, 50, lr=LR, gamma=0.8, p=p)
    assert np.allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("local_steps", "coupling", "p"), [(1, "power", 1.0), (5, "capped", 0.8), (5, "clipped", 1.0)]
)
def test_the_fixed_point_of_admm_is_the_optimum(local_steps, coupling, p):
    given = {"coupling": coupling, "p": p, "cap": 0.5, "radius": 1.0}
    found = trained("admm", RING, 2500, lr=LR, gamma=0.4, local_steps=local_steps, **given)
    assert np.abs(found - by_worker.solution(A, B)).max() < 1e-7


def exchanges(q, steps, seed=0):
    """Whether the workers exchange in each step."""
    coins = (torch_stream(seed, "exchanges", t) for t in range(steps))
    return [float(torch.rand((), generator=each, dtype=torch.float64)) < q for each in coins]


def proxskip(W, grad, steps, lr, gamma, p, q, pull=by_worker.power):
    x, h = by_worker.start(), by_worker.start()
    for exchange in exchanges(q, steps):
        half = {i: x[i] - lr * (grad(i, x[i]) - h[i]) for i in x}
        x = by_worker.pulled(W, half, gamma, p, pull) if exchange else half
        h = {i: h[i] + q / lr * (x[i] - half[i]) for i in x}
    return np.stack(list(x.values()))


@pytest.mark.parametrize(("coupling", "p"), [("power", 1.0), ("power", 0.9), ("capped", 0.8)])
@pytest.mark.parametrize("q", [0.3, 1.0])
def test_proxskip_is_its_reference(q, coupling, p):
    given = {"coupling": coupling, "cap": 0.5, "exchange_probability": q}
    found = trained("proxskip", RING, 50, lr=LR, gamma=0.4, p=p, **given)
    pull = getattr(by_worker, coupling)
    expected = proxskip(RING.numpy(), grad, 50, LR, 0.4, p, q, pull)
    assert np.allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("p", [1.0, 0.8])
def test_proxskip_with_probability_1_is_d2(p):
    found = trained("proxskip", RING, 50, lr=LR, gamma=0.4, p=p, exchange_probability=1.0)
    expected = trained("d2", RING, 50, lr=LR, gamma=0.4, p=p)
    assert np.allclose(found, expected, rtol=0, atol=1e-9)


def test_proxskip_is_exact_with_a_low_probability():
    found = trained("proxskip", RING, 3000, lr=LR, gamma=0.5, p=1.0, exchange_probability=0.1)
    assert np.abs(found - by_worker.solution(A, B)).max() < 1e-8


def test_an_exchange_of_proxskip_on_a_complete_graph_is_the_mean():
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


def momentum_tracking(W, grad, steps, lr, gamma, p, mu, combines_first, pull=by_worker.power):
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
def test_momentum_tracking_is_its_reference(coupling, p, order):
    given = {"coupling": coupling, "cap": 0.5, "order": order, "tracked_momentum": 0.8}
    found = trained("momentum_tracking", RING, 50, lr=0.02, gamma=0.4, p=p, **given)
    pull, first = getattr(by_worker, coupling), order == "combine_then_adapt"
    expected = momentum_tracking(RING.numpy(), grad, 50, 0.02, 0.4, p, 0.8, first, pull)
    assert np.allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("p", [1.0, 0.9])
def test_momentum_tracking_without_momentum_is_gradient_tracking(p):
    found = trained("momentum_tracking", RING, 50, lr=LR, gamma=0.4, p=p, tracked_momentum=0.0)
    expected = trained("gradient_tracking", RING, 50, lr=LR, gamma=0.4, p=p)
    assert np.allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", ["combine_then_adapt", "adapt_then_combine"])
def test_momentum_tracking_is_exact_where_gossip_is_biased(order):
    best = by_worker.solution(A, B)
    biased = trained("gossip", RING, 300, lr=LR, gamma=0.8, p=1.0, rule="momentum", momentum=0.9)
    assert np.abs(biased - best).max() > 0.3
    given = {"order": order, "tracked_momentum": 0.9}
    found = trained("momentum_tracking", RING, 600, lr=LR, gamma=0.8, p=1.0, **given)
    assert np.abs(found - best).max() < 1e-8
