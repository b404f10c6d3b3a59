"""The local step: its rule, its order with the pull, its learning rate."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from by_worker import D, N, gradient, problem, pulled
from stepping import Stepping, ring_matrix, states
from torch import optim

from ngo.gossip.method import ORDERS
from ngo.gossip.schedule import learning_rate

# The rules, and the optimizers of torch that they are.
OPTIMIZERS = {
    "sgd": optim.SGD,
    "momentum": lambda rows, **how: optim.SGD(rows, momentum=0.8, **how),
    "nesterov": lambda rows, **how: optim.SGD(rows, momentum=0.8, nesterov=True, **how),
    "adam": optim.Adam,
    "adamw": optim.AdamW,
}


@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize("rule", OPTIMIZERS)
def test_each_worker_moves_as_with_torchs_optimizer(rule, decay):
    X, G = states()
    actual = Stepping("ngo", X, rule=rule, lr=0.1, momentum=0.8, weight_decay=decay)
    rows = [torch.nn.Parameter(row.clone()) for row in X]
    optimizers = [OPTIMIZERS[rule]([row], lr=0.1, weight_decay=decay) for row in rows]
    for k in range(50):
        gradients = G * (-1) ** k + 0.1 * k
        actual.step(gradients).descend()
        actual.t += 1
        for row, gradient_of_row, optimizer in zip(rows, gradients, optimizers, strict=True):
            row.grad = gradient_of_row.clone()
            optimizer.step()
    assert torch.allclose(actual.X, torch.stack([row.data for row in rows]), rtol=0, atol=1e-11)


ETA, GAMMA, ORDER_STEPS, MASS = 0.05, 0.3, 8, 0.9


def worker_by_worker(order, p, momentum, decay, A, b, W, x):
    m = {i: np.zeros(D) for i in x}
    for _ in range(ORDER_STEPS):
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
    for _ in range(ORDER_STEPS):
        at = stepping.X.numpy().copy()
        G = np.stack([gradient(A, b, i, at[i]) for i in range(N)])
        assert stepping.advance(torch.from_numpy(G)) == 2 * N
    start = {i: X[i].numpy() for i in range(N)}
    expected = worker_by_worker(order, p, momentum, decay, A, b, W.numpy(), start)
    assert np.allclose(stepping.X.numpy(), expected, rtol=1e-9, atol=1e-12)


T = 12
DROPS = {"lr_drop_factor": 0.1, "lr_first_drop": 0.5, "lr_second_drop": 0.75}


def rates(schedule, *, steps=T, lr=0.4, warmup=0.0, **values):
    run = SimpleNamespace(lr=lr, lr_schedule=schedule, warmup=warmup, **values)
    return [learning_rate(run, t, steps) for t in range(steps)]


def torchs(make):
    """The learning rates of a schedule of torch, which ``make`` gives for an optimizer."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.4)
    scheduler = make(optimizer)
    actual = []
    for _ in range(T):
        actual.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return actual


def test_cosine_is_torchs():
    expected = torchs(lambda optimizer: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T))
    assert rates("cosine") == pytest.approx(expected)


@pytest.mark.parametrize(("second", "milestones"), [(0.75, [6, 9]), (1.0, [6])])
def test_steps_are_torchs_milestones(second, milestones):
    expected = torchs(lambda sgd: torch.optim.lr_scheduler.MultiStepLR(sgd, milestones, gamma=0.1))
    assert rates("step", **{**DROPS, "lr_second_drop": second}) == pytest.approx(expected)


@pytest.mark.parametrize("schedule", ["constant", "cosine", "step"])
def test_a_warm_up_is_linear_and_then_leaves_the_schedule_alone(schedule):
    plain, warm = (rates(schedule, warmup=share, **DROPS) for share in (0.0, 0.25))
    factors = [w / p for w, p in zip(warm, plain, strict=True)]
    assert factors == pytest.approx([1 / 3, 2 / 3, *[1] * (T - 2)])
    assert min(rates(schedule, warmup=0.99, **DROPS)) > 0
