"""GT-SAGA equals its slow reference on finite sums, and has no noise in the end."""

from dataclasses import replace
from functools import partial

import by_worker
import numpy as np
import pytest
import torch
from runs import CONVEX, digits_run
from stepping import Stepping
from test_drift_corrections import A, B

from ngo.common.registries import METHODS
from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.topologies.static import ring
from ngo.training.learning_problem import make_problem
from ngo.training.stepper import Stepper

RING = mixing_matrix(ring(by_worker.N))
SIZES = [3, 4, 5, 6, 7, 8]  # samples of each worker: its first ones
LR = 0.01


def gradient(i, s, x):
    """That of sample s of worker i."""
    return A[i][s] * (A[i][s] @ x - B[i][s])


def draws(steps):
    """The samples of each step, in passes of random order."""
    random = np.random.default_rng(0)
    passes = [[random.permutation(m) for _ in range(steps // m + 1)] for m in SIZES]
    return np.stack([np.concatenate(each)[:steps] for each in passes], 1)


def trained(method, steps, **values):
    X = torch.zeros(by_worker.N, by_worker.D).double()
    stepping = Stepping(method, X, RING, lr=LR, **values)
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
        x = by_worker.pulled(RING.numpy(), {i: x[i] - LR * y[i] for i in x}, gamma, p, pull)
        before = r
    return np.stack(list(x.values()))


@pytest.mark.parametrize(("coupling", "p"), [("power", 1.0), ("power", 0.9), ("capped", 0.8)])
def test_it_is_its_reference(coupling, p):
    actual = trained("gt_saga", 50, coupling=coupling, gamma=0.4, p=p, cap=0.5)
    expected = reference(50, 0.4, p, getattr(by_worker, coupling))
    assert np.allclose(actual, expected, rtol=0, atol=1e-9)


def test_it_reaches_the_minimum_where_gradient_tracking_goes_on_moving():
    """The minimum of the mean of the workers' objectives, each a mean over its samples."""
    parts = [(a[:m], b[:m], m) for a, b, m in zip(A, B, SIZES, strict=True)]
    H, h = sum(a.T @ a / m for a, _, m in parts), sum(a.T @ b / m for a, b, m in parts)
    best = np.linalg.solve(H, h)
    actual = trained("gt_saga", 3000, gamma=0.8, p=1.0)
    noisy = trained("gradient_tracking", 500, gamma=0.8, p=1.0)
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
