"""Values that are not finite are told before the training."""

from dataclasses import replace

import pytest
import torch
from own_modules import CLASSES, PAIR, X, line, quick, told
from runs import CONVEX, digits_run
from torch import nn

from ngo.training.own import check_problem
from ngo.training.problem import make_problem


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


def test_a_module_may_replace_values_that_are_not_finite():
    class Filled(nn.Linear):
        def forward(self, x):
            return super().forward(x.nan_to_num())

    train = (with_value(torch.nan, 5, X), CLASSES)
    run = quick(Filled(3, 4), train, workers=2, batch_size=2, lr=0.001)
    assert run.metrics["consensus_loss"].notna().all()


@pytest.mark.parametrize(("value", "part"), [(-torch.inf, "train"), (torch.nan, "test")])
def test_a_value_that_is_not_finite_is_told_where_only_the_gradient_shows_it(value, part):
    """Tanh of an infinity is finite: the run would diverge, and the learning rate get the blame."""
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4))
    data = {"train": PAIR, "test": PAIR} | {part: (with_value(value, 5, X), CLASSES)}
    text = told(module=module, **data, workers=2, batch_size=2)
    assert text.startswith(f"{part}: the inputs have 1 value that is not finite; leave out")


def test_each_kind_of_value_that_is_not_finite_is_tried():
    """The module replaces NaN, of which there are many before the infinity."""

    class Filled(nn.Linear):
        def forward(self, x):
            return super().forward(x.masked_fill(x.isnan(), 0))

    inputs = torch.full((8, 3), torch.nan)
    inputs[7, 2] = torch.inf
    text = told(module=Filled(3, 4), train=(inputs, CLASSES), test=PAIR, workers=2, batch_size=2)
    assert text.startswith("train: the inputs have 24 values that are not finite")


def test_values_of_a_data_set_that_are_not_finite_are_told(least_squares):
    spec = digits_run(**CONVEX)
    for name, what in (
        ("train_inputs", "train: the inputs"),
        ("train_targets", "train: the targets"),
        ("test_inputs", "test: the inputs"),
        ("test_targets", "test: the targets"),
    ):
        data = replace(least_squares, **{name: with_value(torch.nan, 7, vars(least_squares)[name])})
        with line(f"dataset 'least_squares', {what} have 1 value that is not finite; leave out"):
            check_problem(spec, make_problem(spec, data))
