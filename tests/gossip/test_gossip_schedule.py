"""γ, V_th and the graph change during a run as its schedule says."""

from dataclasses import replace
from types import SimpleNamespace

import by_worker
import numpy as np
import pytest
import torch
from by_worker import D, N, gradient, problem, pulled
from cases import cases
from runs import CONVEX, digits_run
from stepping import Stepping, ring_matrix, states
from torch import optim

from ngo.common.fields import number, within
from ngo.common.registries import ORDERS, SCHEDULES, TOPOLOGIES
from ngo.common.seeding import torch_stream
from ngo.engine.population import Population
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.gossip.schedule import learning_rate, schedule, scheduled
from ngo.training.batches import Batches, BatchStream
from ngo.training.learning_problem import make_problem
from ngo.training.spec_checks import resolve
from ngo.training.stepper import Stepper

STEPS, LR = 50, 0.02
THREE = {"schedule": "phases", "second_phase": 0.4, "third_phase": 0.7}
# The rules, and the optimizers of torch that they are.
OPTIMIZERS = {
    "sgd": optim.SGD,
    "momentum": lambda rows, **how: optim.SGD(rows, momentum=0.8, **how),
    "nesterov": lambda rows, **how: optim.SGD(rows, momentum=0.8, nesterov=True, **how),
    "adam": optim.Adam,
    "adamw": optim.AdamW,
}
ETA, GAMMA, ORDER_STEPS, MASS = 0.05, 0.3, 8, 0.9
T = 12
DROPS = {"lr_drop_factor": 0.1, "lr_first_drop": 0.5, "lr_second_drop": 0.75}


def made(data, **values):
    spec = digits_run(**{**CONVEX, "lr": LR, "gamma": 0.5, "workers": N, **values})
    return Stepper(spec, make_problem(spec, data), steps=STEPS, threads=1)


@pytest.fixture
def float64(least_squares):
    """The data in float64, as long as the test lasts."""
    torch.set_default_dtype(torch.float64)
    names = ("train_inputs", "train_targets", "test_inputs", "test_targets")
    yield replace(least_squares, **{name: getattr(least_squares, name).double() for name in names})
    torch.set_default_dtype(torch.float32)


def worker_by_worker(spec, problem, phases):
    """Gossip in NumPy; ``phases`` has (first step, W, γ), the last first."""
    population = Population(problem.model, N, spec.seed, backend="loop")
    streams = [
        BatchStream(part, spec.batch_size, torch_stream(spec.seed, "batches", i))
        for i, part in enumerate(problem.parts)
    ]
    batches = Batches(problem.task, problem.data, streams)
    x = dict(enumerate(population.X.numpy().copy()))
    for t in range(STEPS):
        population.X.copy_(torch.from_numpy(np.stack(list(x.values()))))
        population.gradients(batches)
        half = {i: x[i] - LR * population.G[i].numpy() for i in x}
        W, gamma = next((W, gamma) for first, W, gamma in phases if t >= first)
        x = by_worker.pulled(W, half, gamma, spec.p)
    return np.stack(list(x.values()))


def dense(name):
    return TOPOLOGIES[name].matrix(N).dense().numpy()


@pytest.mark.parametrize("method", [{"method": "gossip"}, {"method": "ngo", "p": 0.8}])
def test_three_phases_are_those_of_a_slow_reference(method, float64):
    given = {"second_topology": "complete", "second_gamma": 0.9, "third_gamma": 0.1}
    stepper = made(float64, **method, **THREE, **given, backend="loop")
    for _ in range(STEPS):
        stepper.advance()
    ring = dense("ring")
    phases = [(35, ring, 0.1), (20, dense("complete"), 0.9), (0, ring, 0.5)]
    spec = stepper._spec
    expected = worker_by_worker(spec, make_problem(spec, float64), phases)
    assert np.allclose(stepper.population.X.numpy(), expected, rtol=0, atol=1e-6)
    constant = worker_by_worker(spec, make_problem(spec, float64), [(0, ring, 0.5)])
    assert np.abs(expected - constant).max() > 1e-3


def test_v_is_held_at_the_level_of_each_phase_and_nothing_is_sent_outside(least_squares):
    """Linear gossip on the complete graph averages exactly, where V_th is small enough."""
    levels = {"v_threshold": 0.05, "second_v_threshold": 1e-8, "third_v_threshold": 0.01}
    stepper = made(least_squares, method="gossip_until", gamma=1.0, lr=0.1, **THREE, **levels)
    actual = []
    for _ in range(STEPS):
        stepper.advance()
        actual.append(float(synchronization_index(stepper.population.X)))
    of_phases = actual[:20], actual[20:35], actual[35:]
    for V, level in zip(of_phases, levels.values(), strict=True):
        assert max(V) <= level
    assert max(of_phases[0]) > 0.01
    assert max(of_phases[2]) > 1e-4
    # On the graph without edges each worker trains alone; three phases are a window.
    stepper = made(least_squares, topology="empty", method="dsgd", **THREE, second_topology="ring")
    alone = made(least_squares, topology="empty", method="dsgd")
    sent = []
    for t in range(STEPS):
        before = stepper.network.messages
        stepper.advance()
        sent.append(stepper.network.messages - before)
        alone.advance()
        assert torch.equal(stepper.population.X, alone.population.X) == (t < 20)
    assert sent == [0] * 20 + [2 * N] * 15 + [0] * 15
    assert alone.network.messages == 0


def test_a_schedule_is_registered_by_its_name_with_options(own_entries):
    @schedule("falling", options={"last_share": number("share of γ at the end", 0.5, within(0, 1))})
    def falling(share, run):
        return {"gamma": run.gamma * (1 - share * (1 - run.last_share))}

    assert SCHEDULES["falling"].values is falling
    assert SCHEDULES["falling"].graphs == ()
    spec = resolve({"method": "gossip", "schedule": "falling", "gamma": 0.8})
    assert [scheduled(spec, t, 2)["gamma"] for t in (0, 1)] == [0.8, pytest.approx(0.6)]


# The local step: its rule, its order with the pull, its learning rate.


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


def rules_by_worker(order, p, momentum, decay, A, b, W, x):
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
@cases("rule, momentum, decay", ("sgd", 0.0, 0.0), ("momentum", MASS, 0.0), ("sgd", 0.0, 0.1))
def test_steps_are_those_worker_by_worker(order, method, p, rule, momentum, decay):
    A, b = problem()
    X = torch.randn(N, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    W = ring_matrix(N)
    how = {"lr": ETA, "gamma": GAMMA, "momentum": MASS, "weight_decay": decay}
    stepping = Stepping(method, X, W, rule=rule, order=order, p=p, **how)
    for _ in range(ORDER_STEPS):
        at = stepping.X.numpy().copy()
        G = np.stack([gradient(A, b, i, at[i]) for i in range(N)])
        assert stepping.advance(torch.from_numpy(G)) == 2 * N
    start = {i: X[i].numpy() for i in range(N)}
    expected = rules_by_worker(order, p, momentum, decay, A, b, W.numpy(), start)
    assert np.allclose(stepping.X.numpy(), expected, rtol=1e-9, atol=1e-12)


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


def test_cosine_and_steps_are_torchs():
    expected = torchs(lambda sgd: optim.lr_scheduler.CosineAnnealingLR(sgd, T))
    assert rates("cosine") == pytest.approx(expected)
    for second, at in ((0.75, [6, 9]), (1.0, [6])):
        expected = torchs(lambda sgd, at=at: optim.lr_scheduler.MultiStepLR(sgd, at, gamma=0.1))
        assert rates("step", **{**DROPS, "lr_second_drop": second}) == pytest.approx(expected)


@pytest.mark.parametrize("schedule", ["constant", "cosine", "step"])
def test_a_warm_up_is_linear_and_then_leaves_the_schedule_alone(schedule):
    plain, warm = (rates(schedule, warmup=share, **DROPS) for share in (0.0, 0.25))
    factors = [w / p for w, p in zip(warm, plain, strict=True)]
    assert factors == pytest.approx([1 / 3, 2 / 3, *[1] * (T - 2)])
    assert min(rates(schedule, warmup=0.99, **DROPS)) > 0
