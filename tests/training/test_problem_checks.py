"""A module, a loss and data are tried on a few samples: mistakes and draws are found."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from own_modules import (
    CLASSES,
    DATA,
    PAIR,
    Replaced,
    X,
    line,
    numbers,
    prepared,
    quick,
    told,
)
from runs import digits_run
from torch import nn
from torch.nn import functional as F

from ngo.models.model import Model, mnist_cnn
from ngo.models.task import TASKS
from ngo.training import problem_checks
from ngo.training.fit_inputs import dataset_of, template
from ngo.training.learning_problem import make_problem
from ngo.training.problem_checks import check_problem, try_problem
from ngo.training.stepper import Stepper
from verdicts.registry import UserError


def tried(module, pair=PAIR, loss=None):
    return try_problem(SPEC, problem_of(*prepared(module, pair, loss)), module_key="module")


SPEC = digits_run(batch_size=4, workers=2)


def problem_of(model, data, task):
    parts = [np.arange(4), np.arange(4, 8)]
    return make_problem(SPEC, data, parts, model=model, task=task)


class InPlace(nn.Linear):
    def forward(self, x):
        return super().forward(x.div_(2))


@pytest.mark.parametrize(
    ("module", "pair", "part"),
    [
        (nn.Linear(2, 4), PAIR, "module: it failed on inputs of float32 of shape [3]: addmm: mat1"),
        (nn.Linear(3, 3), PAIR, "its outputs are [4, 3]; for 4 classes they must be logits"),
        (nn.Linear(3, 1), numbers(), "its outputs are [4, 1] for targets [4]"),
        (InPlace(3, 4), PAIR, "module: it changes its inputs in place"),
    ],
)
def test_modules_that_do_not_fit_the_data_are_refused_in_a_line(module, pair, part):
    before = X.clone()
    with line(part):
        tried(module, pair)
    assert torch.equal(X, before)


@pytest.mark.parametrize(
    ("loss", "part"),
    [
        ("mse", "loss: 'mse' is not a function (outputs, targets)"),
        (lambda out, y: 1.0, "loss: it returned a float for 4 samples, "),
        (lambda out, y: out.sum(0), "loss: it returned [5] for 4 samples"),
        (lambda out, y: out.detach().sum(1), "loss: it failed on outputs [4, 5]"),
    ],
)
def test_wrong_losses_are_refused_in_a_line(loss, part):
    with line(part):
        tried(nn.Linear(3, 5), loss=loss)


class Draws(nn.Linear):
    def __init__(self, draw, when=(True, False)):
        super().__init__(3, 4)
        self.draw, self.when = draw, when

    def forward(self, x):
        if self.training in self.when:
            self.draw()
        return super().forward(x)


@pytest.mark.parametrize(
    ("module", "draws"),
    [
        (nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 4)), False),
        (nn.Sequential(nn.AlphaDropout(0.5), nn.Linear(3, 4)), True),
        (Draws(lambda: F.dropout(X)), True),
        (Draws(lambda: np.random.rand()), True),
    ],
)
def test_draws_from_global_streams_are_detected(module, draws):
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    assert tried(module)[1] is draws
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()


def test_a_function_that_changes_its_targets_changes_no_others():
    """Later evaluations had wrong accuracies, and the caller's targets were changed."""
    X, y = (each.clone() for each in DATA)
    run = quick(train=(X, y), test=(X, y), score=lambda outputs, y: y.zero_().float())
    assert (run.metrics["consensus_accuracy"] == 0).all()
    assert torch.equal(y, DATA[1])
    text = told(train=(X, y), test=(X, y), loss=lambda out, y: out.sum(1) + y.zero_())
    assert text == "loss: it changes its targets in place; copy them first."


@pytest.mark.parametrize(
    ("train", "parts"),
    [
        (X, ["train: a Tensor is not a pair (inputs, targets)"]),
        ((X, torch.tensor(1)), ["train targets: a Tensor is no array", "a row per sample"]),
        ((X, CLASSES[:7]), ["train: there are 8 inputs and 7 targets", "equal"]),
        ((X[:, :2], CLASSES), ["test inputs: each is float32 of shape [3]", "shape [2]"]),
        ((X, CLASSES.float()), ["test targets: each is int64 of shape []", "float32"]),
    ],
)
def test_wrong_data_is_refused_in_a_line(train, parts):
    with line(*parts):
        dataset_of(train, PAIR, "cpu")


@pytest.mark.parametrize(
    ("targets", "part"),
    [
        (CLASSES - 1, "-1 is not a class"),
        (CLASSES.int(), "each is int32 of shape []"),
    ],
)
def test_wrong_targets_are_refused_in_a_line(targets, part):
    with line("targets: ", part):
        dataset_of((X, targets), (X, targets), "cpu")


def not_copied():
    module = nn.Linear(3, 4)
    module.last = module.weight * 2  # deepcopy refuses tensors inside a graph
    return module


@pytest.mark.parametrize(
    ("module", "part"),
    [
        ("net", "a str is not allowed; it must be a torch.nn.Module or a function"),
        (lambda: None, "a NoneType is not allowed"),
        (nn.Linear, "its function failed: Linear.__init__() missing 2 required"),
        (nn.Linear(3, 4).requires_grad_(False), "no parameters to train"),
        (nn.LazyLinear(4), "lazy parameters"),
        (nn.Linear(3, 4).double(), "are float64; they must be float32: module.float()"),
        (not_copied, "it can't be copied"),
    ],
)
def test_modules_that_cannot_be_trained_are_refused_in_a_line(module, part):
    with line("module: ", part):
        template(module, 0)


def with_value(value, place, tensor):
    changed = tensor.clone().float()
    changed.view(-1)[place] = value
    return changed


@pytest.mark.parametrize(
    ("train", "test", "part"),
    [
        ((torch.full((8, 3), torch.nan), CLASSES), PAIR, "train inputs: 24 values are not finite"),
        (PAIR, (with_value(torch.nan, 5, X), CLASSES), "test inputs: 1 values are not finite"),
        ((X, with_value(torch.nan, 2, X)), (X, X), "train targets: 1 values are not finite"),
    ],
)
def test_values_that_are_not_finite_are_told_before_training(train, test, part):
    arguments = {"module": nn.Linear(3, 3 if train[1].dim() > 1 else 4), "train": train}
    assert part in told(**arguments, test=test, workers=2, batch_size=2)


def digits_problem(digits, **parts):
    spec = digits_run()
    model = Model(parts.pop("build", mnist_cnn), (1, 28, 28), "classification")
    task = replace(TASKS["classification"], **parts)
    check_problem(spec, make_problem(spec, digits, model=model, task=task))


def flat(*layers):
    return lambda generator: nn.Sequential(nn.Flatten(), *layers)


@pytest.mark.parametrize(
    ("build", "part"),
    [
        (flat(nn.Linear(5, 10)), "it failed on inputs of float32 of shape [1, 28, 28]: addmm"),
        (flat(nn.Linear(784, 9)), "its outputs are [16, 9]; for 10 classes they must be logits of"),
        (flat(nn.Linear(784, 10).requires_grad_(False)), "it has no parameters to train."),
        (lambda generator: nn.Linear("a", 3), "it can't be built: "),
        (
            flat(nn.Linear(784, 3), Replaced(), nn.Linear(4, 10)),
            "its buffer '2.seen' is replaced in a forward pass; change it in place, such as ",
        ),
    ],
)
def test_a_registered_model_that_does_not_fit_is_named_in_a_line(build, part, digits):
    with line("model 'mnist_cnn': " + part):
        digits_problem(digits, build=build)


def test_a_registered_task_that_does_not_fit_is_named_in_a_line(digits):
    with line("task 'classification', loss: it returned [] for 16 samples"):
        digits_problem(digits, loss=F.cross_entropy)


def test_a_run_that_cannot_fit_is_refused_before_it_allocates(digits, monkeypatch):
    monkeypatch.setattr(problem_checks, "memory_limit", lambda: 10**6)
    monkeypatch.setattr("ngo.training.stepper.Population", None)
    spec = digits_run(workers=4)
    line = "workers: 4 with model 'mnist_cnn' need 1 MB of memory or more, and this process may use"
    with pytest.raises(UserError, match=line):
        Stepper(spec, make_problem(spec, digits))
