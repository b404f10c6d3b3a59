"""Training steps in which links fail and workers are away."""

import copy

import pytest
import torch
from runs import CONVEX, digits_run
from torch import nn

from ngo.gossip.exchange import Failures
from ngo.gossip.method import METHODS
from ngo.models.model import MODELS, Model
from ngo.training.learning_problem import make_problem
from ngo.training.stepper import Stepper

N, LR = 4, 0.02
RATES = {"link_failure": 0.3, "absence": 0.4}
ABLE = sorted(
    name
    for name, each in METHODS.items()
    if each.decentralized and each.arrivals != "pair" and not each.needs_every_message
)


def made(data, **values):
    spec = digits_run(**{**CONVEX, "lr": LR, "workers": N, **RATES, **values})
    return Stepper(spec, make_problem(spec, data), steps=100, threads=1)


def absences(steps, seed=0):
    """The workers that are away in each step."""
    failures = Failures(N, seed, **RATES)
    return [failures.absent(t) for t in range(steps)]


def advanced(stepper, steps):
    """Take steps; yields who is away, and the state before and after each."""
    for absent in absences(steps):
        before = stepper.population.X.clone(), copy.deepcopy(stepper.state_dict()["matrices"])
        stepper.advance()
        yield absent, before, (stepper.population.X, stepper.state_dict()["matrices"])


@pytest.mark.parametrize("method", ABLE)
def test_the_rows_of_absent_workers_stay_as_they_are(method, least_squares):
    fixed = "local_rule" in METHODS[method].fixed
    stepper = made(least_squares, method=method, local_rule="sgd" if fixed else "nesterov")
    seen = 0
    for absent, (X, matrices), (new, others) in advanced(stepper, 12):
        present = [i for i in range(N) if i not in absent]
        seen += len(absent)
        assert torch.equal(new[absent], X[absent])
        assert (new[present] != X[present]).any(1).all()
        for name, rows in matrices.items():
            assert torch.equal(others[name][absent], rows[absent])
    assert seen > 5


def test_the_mean_moves_by_the_gradients_of_those_who_are_there(least_squares):
    stepper = made(least_squares, p=0.8)
    for absent in absences(12):
        stepper.gradients()
        X, G = stepper.population.X.clone(), stepper.population.G.clone()
        G[absent] = 0
        stepper.update()
        mean = X.mean(0) - LR * G.mean(0)
        assert torch.allclose(stepper.population.X.mean(0), mean, rtol=0, atol=1e-6)


def test_corrections_conserve_their_sums(least_squares):
    """Σ y = Σ g in gradient tracking, Σ w = n in push-sum, and what adds up pulls sums to 0."""
    tracking = made(least_squares, method="gradient_tracking")
    for _, _, (_, matrices) in advanced(tracking, 12):
        assert torch.allclose(matrices["y"].sum(0), matrices["g"].sum(0), rtol=0, atol=1e-4)
    sums = {"d2": "c", "exact_diffusion": "c", "extra": "c", "proxskip": "h", "admm": "multiplier"}
    for name, of in sums.items():
        for _, _, (_, matrices) in advanced(made(least_squares, method=name), 12):
            assert float(matrices[of].sum(0).abs().max()) < 1e-5
        assert float(matrices[of].abs().max()) > 0.01
    for _, _, (_, matrices) in advanced(made(least_squares, method="push_sum"), 12):
        assert float(matrices["w"].sum()) == pytest.approx(N, abs=1e-5)


def test_failed_links_carry_no_message(least_squares):
    stepper = made(least_squares, topology="complete")
    failures = Failures(N, 0, **RATES)
    expected = 0
    for t in range(12):
        expected += failures.matrix(torch.ones(N, N), failures.absent(t)).edges
        stepper.advance()
    assert stepper.network.messages == expected < 12 * N * (N - 1)


def test_buffers_of_absent_workers_stay_as_they_are(monkeypatch, digits):
    def normalised(generator):
        return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(784), nn.Linear(784, 10))

    shape = MODELS["mnist_cnn"].input_shape
    model = Model(normalised, input_shape=shape, task="classification")
    monkeypatch.setitem(MODELS, "normalised", model)
    spec = digits_run(model="normalised", workers=N, **RATES)
    stepper = Stepper(spec, make_problem(spec, digits), steps=100, threads=1)
    for absent in absences(6):
        before = stepper.population.buffers.clone()
        stepper.advance()
        changed = (stepper.population.buffers != before).any(1)
        assert changed.tolist() == [i not in absent for i in range(N)]
