"""A registered model or task that does not fit the data is named in a line."""

from dataclasses import replace

import pytest
import torch
from own_modules import Flagged, in_place, line
from runs import digits_run
from torch import nn
from torch.nn import functional as F

from ngo.models.architectures import mnist_cnn
from ngo.models.model import Model
from ngo.models.task import TASKS
from ngo.training.own import check_problem
from ngo.training.problem import make_problem


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
        (flat(nn.LazyLinear(10)), "it has lazy parameters; call it on some inputs first."),
        (flat(nn.Linear(784, 10).double()), "its parameters and buffers are float64; they must be"),
        (lambda generator: nn.Linear("a", 3), "it can't be built: "),
        (flat(nn.RNN(784, 10)), "its outputs are a tuple; for 10 classes they must be logits of"),
        (
            flat(nn.Linear(784, 3), Flagged(), nn.Linear(4, 10)),
            "its buffer '2.seen' changes in a forward pass, and the consensus",
        ),
    ],
)
def test_a_registered_model_that_does_not_fit_is_named_in_a_line(build, part, digits):
    with line("model 'mnist_cnn': " + part):
        digits_problem(digits, build=build)


def emptied(data, inputs, targets):
    targets.zero_()
    return data.normalised(inputs), targets


@pytest.mark.parametrize(
    ("parts", "part"),
    [
        ({"loss": in_place("targets")}, "loss: it changes its targets in place; copy them first."),
        ({"loss": F.cross_entropy}, "loss: it returned [] for 16 samples; it must be one"),
        ({"loss": lambda out, y: out.nothing}, "loss: it failed on outputs [16, 10] and targets"),
    ],
)
def test_a_registered_task_that_does_not_fit_is_named_in_a_line(parts, part, digits):
    with line("task 'classification', " + part):
        digits_problem(digits, **parts)


def test_a_batch_that_changes_the_data_set_is_refused(digits):
    own = replace(digits, **{name: each.clone() for name, each in tensors(digits).items()})
    with line("task 'classification', batch: it changes its targets in place; copy them first."):
        digits_problem(own, batch=emptied)


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
