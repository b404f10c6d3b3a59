"""Methods that correct the drift of workers, or of samples, equal slow references without bias."""

from dataclasses import replace
from functools import partial

import by_worker
import numpy as np
import pytest
import torch
from by_worker import D, N
from cases import cases
from runs import CONVEX, digits_run
from stepping import Stepping, mixing_matrix

from ngo.common.registries import METHODS
from ngo.common.seeding import torch_stream
from ngo.gossip.exchange import Failures, unchanged
from ngo.gossip.mixing_matrix import MixingMatrix, outgoing_shares
from ngo.gossip.topologies.static import chain, complete, ring
from ngo.training.learning_problem import make_problem
from ngo.training.stepper import Stepper

LR = 0.05
A, B = by_worker.problem()
RING = mixing_matrix(ring(by_worker.N))
CHAIN = mixing_matrix(chain(by_worker.N))
W = MixingMatrix.of(mixing_matrix(ring(N)))
BEST = by_worker.solution(A, B)
UNBIASED = ("d2", "exact_diffusion", "gradient_tracking", "extra", "admm", "proxskip")
MU, DECAY = 0.9, 0.1


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
@cases("method", "d2", "exact_diffusion", "extra", "gradient_tracking", "quasi_global")
def test_a_method_is_its_reference(method, graph, p):
    W = mixing_matrix(graph(by_worker.N))
    actual = trained(method, W, 50, lr=LR, gamma=0.4, p=p, qg_momentum=0.9)
    expected = getattr(by_worker, method)(W.numpy(), grad, 50, LR, 0.4, p)
    assert np.allclose(actual, np.stack(list(expected.values())), rtol=0, atol=1e-9)
    if method == "quasi_global":  # with two coefficients
        apart = trained("quasi_global_apart", W, 50, lr=LR, gamma=0.4, p=p, qg_beta=0.5, qg_mu=0.8)
        expected = by_worker.quasi_global(W.numpy(), grad, 50, LR, 0.4, p, mu=0.8, beta=0.5)
        assert np.allclose(apart, np.stack(list(expected.values())), rtol=0, atol=1e-9)


def test_push_sum_is_its_reference():
    n = by_worker.N
    W = outgoing_shares(
        n, np.array([*((i, (i + 1) % n) for i in range(n)), (0, 2), (3, 1)])
    ).dense()
    expected = by_worker.push_sum(W.numpy(), grad, 50, LR)
    actual = trained("push_sum", W, 50, lr=LR)
    assert np.allclose(actual, np.stack(list(expected.values())), rtol=0, atol=1e-9)


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
        apart = {i: sum(c[i, j] * (x[i] - x[j]) for j in x if j != i) for i in x}
        multiplier = {i: multiplier[i] + apart[i] for i in x}
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
def test_admm_with_many_steps_is_its_reference_and_with_one_dlm(W):
    actual = trained("admm", W, 50, lr=LR, gamma=0.4, p=1.0, local_steps=1)
    assert np.allclose(actual, dlm(W.numpy(), grad, 50, LR, 0.4), rtol=0, atol=1e-9)
    actual = trained("admm", W, 8 * 60, lr=LR, gamma=0.4, p=1.0, local_steps=60)
    expected = admm(W.numpy(), 8, LR, 0.4)
    assert np.allclose(actual, expected, rtol=0, atol=1e-9)
    assert np.ptp(expected, axis=0).max() > 0.01


def exchanges(q, steps, seed=0):
    """Whether the workers exchange in each step."""
    coins = (torch_stream(seed, "exchanges", t) for t in range(steps))
    return [float(torch.rand((), generator=coin, dtype=torch.float64)) < q for coin in coins]


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
    actual = trained("proxskip", RING, 50, lr=LR, gamma=0.4, p=p, **given)
    expected = proxskip(RING.numpy(), grad, 50, LR, 0.4, p, q, getattr(by_worker, coupling))
    assert np.allclose(actual, expected, rtol=0, atol=1e-9)


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
    actual = trained("momentum_tracking", RING, 50, lr=0.02, gamma=0.4, p=p, **given)
    pull, first = getattr(by_worker, coupling), order == "combine_then_adapt"
    expected = momentum_tracking(RING.numpy(), grad, 50, 0.02, 0.4, p, 0.8, first, pull)
    assert np.allclose(actual, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("order", ["combine_then_adapt", "adapt_then_combine"])
def test_momentum_tracking_is_exact_where_gossip_is_biased(order):
    biased = trained("gossip", RING, 300, lr=LR, gamma=0.8, p=1.0, rule="momentum", momentum=0.9)
    assert np.abs(biased - BEST).max() > 0.3
    given = {"order": order, "tracked_momentum": 0.9}
    actual = trained("momentum_tracking", RING, 600, lr=LR, gamma=0.8, p=1.0, **given)
    assert np.abs(actual - BEST).max() < 1e-8


def trained_with(method, steps, *, link_failure=0.0, absence=0.0, drop=None, **values):
    """The workers' states ``[n, d]``; the learning rate is divided by 10 at the step ``drop``."""
    values = {"gamma": 0.8, "p": 1.0, "momentum": MU, "qg_momentum": MU, **values}
    stepping = Stepping(method, torch.zeros(N, D).double(), W, **values)
    failures = Failures(N, 0, link_failure=link_failure, absence=absence)
    for t in range(steps):
        if t == drop:
            stepping.run.lr /= 10
        absent = failures.absent(t)
        if link_failure or absence:
            stepping.W = failures.matrix(MixingMatrix.of(W), absent)
        with unchanged(absent, stepping.X, *stepping.matrices.values()):
            stepping.advance(gradients(stepping.X))
    return stepping.X.numpy()


def regularised(decay):
    """The minimum of the mean objective plus λ‖x‖²/2."""
    H = sum(a.T @ a / 8 + decay * np.eye(D) for a in A)
    return np.linalg.solve(H, sum(a.T @ b / 8 for a, b in zip(A, B, strict=True)))


def test_adam_goes_with_gradient_tracking_and_weight_decay_and_not_with_d2():
    """At the optimum, y_i is 0 for all; D² cancels half steps whose sum is not 0 there."""
    errors = {
        method: np.abs(trained_with(method, steps, lr=0.01, rule="adam") - BEST).max()
        for method, steps in (("gradient_tracking", 800), ("d2", 300), ("exact_diffusion", 300))
    }
    assert errors["gradient_tracking"] < 1e-6
    assert min(errors["d2"], errors["exact_diffusion"]) > 0.5

    # AdamW ends near the minimum of the mean objective itself.
    def relative_distance(actual, to):
        return np.linalg.norm(actual - to, axis=1).max() / np.linalg.norm(to)

    how = {"lr": 0.01, "weight_decay": 0.3}
    rules = ("adam", "adamw")
    adam, adamw = (trained_with("gradient_tracking", 1000, rule=r, **how) for r in rules)
    assert relative_distance(adam, regularised(0.3)) < 1e-6
    assert relative_distance(adamw, regularised(0.3)) > 0.3
    assert relative_distance(adamw, BEST) < 0.05


@pytest.mark.parametrize("method", UNBIASED)
def test_weight_decay_is_that_of_the_regularised_problem(method):
    """½λ‖x‖² in each worker's objective; counted twice or not at all, it would be another one."""
    actual = trained_with(method, 500, lr=0.05, rule="momentum", weight_decay=DECAY)
    assert np.abs(actual - regularised(DECAY)).max() < 1e-8
    assert np.abs(regularised(DECAY) - BEST).max() > 0.05


@pytest.mark.parametrize("method", UNBIASED)
def test_corrections_stay_without_bias_where_links_fail_and_workers_are_away(method):
    """Also after a drop of the learning rate."""
    away = {"link_failure": 0.3, "absence": 0.2}
    actual = trained_with(method, 700, lr=0.03, rule="momentum", drop=690, **away)
    assert np.abs(actual - BEST).max() < 1e-6


SIZES = [3, 4, 5, 6, 7, 8]  # samples of each worker: its first ones
SAGA_LR = 0.01


def gradient(i, s, x):
    """That of sample s of worker i."""
    return A[i][s] * (A[i][s] @ x - B[i][s])


def draws(steps):
    """The samples of each step, in passes of random order."""
    random = np.random.default_rng(0)
    passes = [[random.permutation(m) for _ in range(steps // m + 1)] for m in SIZES]
    return np.stack([np.concatenate(each)[:steps] for each in passes], 1)


def trained_by_samples(method, steps, **values):
    X = torch.zeros(by_worker.N, by_worker.D).double()
    stepping = Stepping(method, X, RING, lr=SAGA_LR, **values)
    for drawn in draws(steps):
        a, b = A[range(by_worker.N), drawn], B[range(by_worker.N), drawn]
        G = torch.tensor(a * ((a * stepping.X.numpy()).sum(1) - b)[:, None])
        samples = torch.tensor(drawn)[:, None], torch.tensor(SIZES)
        METHODS[method].update(replace(stepping.step(G), samples=partial(tuple, samples)))
        stepping.t += 1
    return stepping.X.numpy()


def reference(steps, gamma, p, pull):
    """Algorithm 1 with one table entry for each sample, all 0 at first."""
    x, y, before = by_worker.start(), by_worker.start(), by_worker.start()
    table = {i: {s: np.zeros(by_worker.D) for s in range(m)} for i, m in enumerate(SIZES)}
    for drawn in draws(steps):
        r = {}
        for i in x:
            g, s = gradient(i, drawn[i], x[i]), drawn[i]
            r[i] = g - table[i][s] + sum(table[i].values()) / SIZES[i]
            table[i][s] = g
        y = by_worker.pulled(RING.numpy(), {i: y[i] + r[i] - before[i] for i in x}, gamma, 1)
        x = by_worker.pulled(RING.numpy(), {i: x[i] - SAGA_LR * y[i] for i in x}, gamma, p, pull)
        before = r
    return np.stack(list(x.values()))


@pytest.mark.parametrize(("coupling", "p"), [("power", 1.0), ("power", 0.9), ("capped", 0.8)])
def test_it_is_its_reference(coupling, p):
    actual = trained_by_samples("gt_saga", 50, coupling=coupling, gamma=0.4, p=p, cap=0.5)
    expected = reference(50, 0.4, p, getattr(by_worker, coupling))
    assert np.allclose(actual, expected, rtol=0, atol=1e-9)


def test_it_reaches_the_minimum_where_gradient_tracking_goes_on_moving():
    """The minimum of the mean of the workers' objectives, each a mean over its samples."""
    parts = [(a[:m], b[:m], m) for a, b, m in zip(A, B, SIZES, strict=True)]
    H, h = sum(a.T @ a / m for a, _, m in parts), sum(a.T @ b / m for a, b, m in parts)
    best = np.linalg.solve(H, h)
    actual = trained_by_samples("gt_saga", 3000, gamma=0.8, p=1.0)
    noisy = trained_by_samples("gradient_tracking", 500, gamma=0.8, p=1.0)
    assert np.abs(actual - best).max() < 1e-4
    assert np.abs(noisy - best).max() > 0.01


def test_a_run_keeps_the_gradient_of_each_sample_in_its_place(least_squares):
    spec = digits_run(**CONVEX, method="gt_saga", workers=3, lr=0.001)
    problem = make_problem(spec, least_squares)
    stepper = Stepper(spec, problem, steps=100, threads=1)
    last = [{} for _ in range(3)]  # each worker's gradients by sample
    for _ in range(20):
        stepper.gradients()
        for i, sample in enumerate(stepper.batches.drawn[:, 0].tolist()):
            last[i][sample] = stepper.population.G[i].clone()
        stepper.update()
    matrices = stepper.state_dict()["matrices"]
    table = matrices["table"].view(3, -1, stepper.population.d)
    for i, part in enumerate(problem.parts):
        assert len(last[i]) == 20
        assert sorted(last[i]) == np.sort(part)[table[i].any(1).nonzero()[:, 0]].tolist()
        for sample, gradient in last[i].items():
            assert torch.equal(table[i][np.searchsorted(np.sort(part), sample)], gradient)
        assert torch.allclose(matrices["mean"][i], table[i].sum(0) / len(part), atol=1e-6)
