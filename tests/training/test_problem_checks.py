"""A module, a loss and data are tried on a few samples: mistakes, draws and sums are found."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from own_modules import (
    CLASSES,
    DATA,
    PAIR,
    Flagged,
    X,
    in_place,
    line,
    numbers,
    prepared,
    quick,
    told,
)
from running import finished, start
from runs import digits_run
from torch import nn
from torch.nn import functional as F

from ngo.common.registry import UserError
from ngo.models.model import Model, mnist_cnn
from ngo.models.task import TASKS
from ngo.training import problem_checks
from ngo.training.fit_inputs import dataset_of, template
from ngo.training.learning_problem import make_problem
from ngo.training.problem_checks import check_memory, check_problem, run_memory, try_out
from ngo.training.stepper import Stepper


def tried(module, pair=PAIR, loss=None, size=4):
    return try_out(*prepared(module, pair, loss), size)


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
        (lambda out, y: 1.0, "loss: it returned a float; it must be a float tensor"),
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


@pytest.mark.parametrize("size", [1, 16])
@pytest.mark.parametrize(
    "loss",
    [
        nn.CrossEntropyLoss(reduction="sum"),
        lambda outputs, targets: F.cross_entropy(outputs, targets, reduction="sum") / 3,
    ],
)
def test_a_sum_is_refused(loss, size):
    line = told(loss=loss, batch_size=size)
    assert line.startswith("loss: it is ")
    assert f"on {size} samples and " in line
    assert line.endswith(
        "a sum; it must be their mean, or one number for each (reduction='mean' or 'none')."
    )


def test_a_score_that_is_a_sum_is_refused():
    line = told(score=lambda outputs, targets: int((outputs.argmax(1) == targets).sum()))
    assert line.startswith("score: it is ")
    assert "on 48 samples and " in line
    assert line.endswith("a sum; it must be their mean, or one number for each.")


def penalized(outputs, targets):
    return F.cross_entropy(outputs, targets) + outputs.square().mean()


@pytest.mark.parametrize("loss", [nn.CrossEntropyLoss(reduction="none"), penalized])
def test_means_and_numbers_for_each_are_taken(loss):
    assert len(quick(loss=loss, batch_size=1).models) == 3


@pytest.mark.parametrize("name", ["outputs", "targets"])
@pytest.mark.parametrize("key", ["loss", "score"])
def test_a_loss_or_score_that_changes_what_it_gets_is_refused(key, name):
    """Later evaluations had wrong accuracies, and the caller's targets were changed."""
    X, y = (each.clone() for each in DATA)
    text = told(train=(X, y), test=(X, y), **{key: in_place(name)})
    assert text == f"{key}: it changes its {name} in place; copy them first."
    assert torch.equal(X, DATA[0])
    assert torch.equal(y, DATA[1])


@pytest.mark.parametrize(
    ("train", "parts"),
    [
        (X, ["train: a Tensor is not a pair (inputs, targets)"]),
        ((X.double(), CLASSES), ["train inputs: float64 is not allowed", ".float()", "float32"]),
        ((X, torch.tensor(1)), ["train targets: a single number", "a row per sample"]),
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


def float64_buffer():
    module = nn.BatchNorm1d(3)
    module.running_mean = module.running_mean.double()
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
        (float64_buffer, "are float32, float64; they must be float32"),
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
        ((torch.full((8, 3), torch.nan), CLASSES), PAIR, "train: the inputs have 24 values that"),
        (
            (with_value(torch.inf, 23, X), CLASSES),
            PAIR,
            "train: the inputs have 1 value that is not finite; leave out these samples, or "
            "replace the values.",
        ),
        (PAIR, (with_value(torch.nan, 5, X), CLASSES), "test: the inputs have 1 value that is not"),
        ((X, with_value(torch.nan, 2, X)), (X, X), "train: the targets have 1 value that is not"),
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
            flat(nn.Linear(784, 3), Flagged(), nn.Linear(4, 10)),
            "its buffer '2.seen' changes in a forward pass, and the consensus",
        ),
    ],
)
def test_a_registered_model_that_does_not_fit_is_named_in_a_line(build, part, digits):
    with line("model 'mnist_cnn': " + part):
        digits_problem(digits, build=build)


@pytest.mark.parametrize(
    ("parts", "part"),
    [
        ({"loss": in_place("targets")}, "loss: it changes its targets in place; copy them first."),
        ({"loss": F.cross_entropy}, "loss: it returned [] for 16 samples; it must be one"),
    ],
)
def test_a_registered_task_that_does_not_fit_is_named_in_a_line(parts, part, digits):
    with line("task 'classification', " + part):
        digits_problem(digits, **parts)


def tensors(data):
    return {name: each for name, each in vars(data).items() if isinstance(each, torch.Tensor)}


def test_the_trial_of_a_run_leaves_streams_and_data_alone(digits):
    spec = digits_run()
    before = torch.get_rng_state()
    check_problem(spec, make_problem(spec, digits))
    assert torch.equal(torch.get_rng_state(), before)
    with line("its outputs are [16, 10]; for 11 classes they must be logits of shape [b, 11]"):
        check_problem(spec, make_problem(spec, replace(digits, classes=11)))
    assert torch.equal(torch.get_rng_state(), before)


# By how much a run of 80 workers raises the largest memory of a process that has made a small one,
# and the estimate.
MEASURED = """
import pathlib, torch
from ngo.data.dataset import Dataset, Source
from ngo.training.learning_problem import make_problem
from ngo.training.validation import resolve
from ngo.training.problem_checks import PROGRAM, run_memory
from ngo.training.stepper import Stepper

def largest(n):
    given = {"dataset": "own", "model": "mnist_fc", "workers": n, "batch_size": 2, "lr": 0.05}
    spec = resolve(given, source=Source(None, None, 4 * n, (1, 28, 28), 10))
    images = [torch.randint(256, (m, 1, 28, 28), dtype=torch.uint8) for m in (4 * n, 9)]
    classes = [torch.randint(10, (m,)) for m in (4 * n, 9)]
    norm = [torch.full((1, 1, 1), value) for value in (0.5, 0.3)]
    data = Dataset("own", 10, images[0], classes[0], images[1], classes[1], *norm)
    problem = make_problem(spec, data)
    Stepper(spec, problem).advance()
    estimate = sum(run_memory(spec, problem).values()) - PROGRAM
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024, estimate

torch.set_num_threads(1)
before, _ = largest(2)
after, estimate = largest(80)
print(after - before, estimate)
"""


def test_a_run_that_cannot_fit_is_refused_before_it_allocates(digits, monkeypatch):
    monkeypatch.setattr(problem_checks, "memory_limit", lambda: 2 * 10**9)
    monkeypatch.setattr("ngo.training.stepper.Population", None)
    spec = digits_run(workers=4)
    problem = make_problem(spec, digits)
    check_memory(spec, run_memory(spec, problem))
    monkeypatch.setattr(problem_checks, "WORKER", 10**9)
    line = (
        "workers: 4 with model '.*' need about 4.3 GB .*modules 4.0 GB.* may use 2.0 GB; use fewer"
    )
    with pytest.raises(UserError, match=line):
        Stepper(spec, problem)


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
def test_the_estimate_is_about_what_a_run_takes():
    found, estimate = map(int, finished(start([sys.executable, "-c", MEASURED])).split())
    assert 0.7 * estimate < found < 1.3 * estimate
