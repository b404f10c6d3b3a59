"""A module and a loss are tried on a few samples: mistakes, draws, and sums are found."""

import numpy as np
import pytest
import torch
from own_modules import CLASSES, DATA, PAIR, X, in_place, line, numbers, prepared, quick, told
from torch import nn
from torch.nn import functional as F

from ngo.training.own import try_out


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
        (nn.GRU(3, 4), PAIR, "its outputs are a tuple"),
        (nn.Linear(3, 1), numbers(), "its outputs are [4, 1] for targets [4]"),
        (nn.Linear(3, 2), numbers(1), "its outputs are [4, 2] for targets [4, 1]"),
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
        (lambda out, y: out.argmax(1), "it must be a float tensor"),
        (lambda out, y: out.sum(0), "loss: it returned [5] for 4 samples"),
        (lambda out, y: out.detach().sum(1), "loss: it failed on outputs [4, 5]"),
        (lambda out, y: F.mse_loss(out, y, nothing=1), "loss: it failed on outputs [4, 5]"),
    ],
)
def test_wrong_losses_are_refused_in_a_line(loss, part):
    with line(part):
        tried(nn.Linear(3, 5), loss=loss)


def test_classes_that_start_from_1_are_told():
    from_one = (X, CLASSES + 1)
    with line("logits of shape [b, 5] (targets are 0 to 4; the smallest here is 1)."):
        tried(nn.Linear(3, 4), from_one)
    with line("logits of shape [b, 4]."):
        tried(nn.Linear(3, 3), PAIR)


def test_only_logits_are_scored():
    binary = (X, CLASSES % 2)

    def loss(outputs, targets):
        return F.binary_cross_entropy_with_logits(outputs[:, 0], targets.float())

    assert tried(nn.Linear(3, 1), binary, loss)[0].score is None
    task, *_ = tried(nn.Linear(3, 4))
    assert task.score(torch.eye(4)[CLASSES], CLASSES).all()


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
        (Draws(lambda: torch.randn(1), when=[False]), True),
        (Draws(lambda: np.random.rand()), True),
        (Draws(lambda: None), False),
    ],
)
def test_draws_from_global_streams_are_detected(module, draws):
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    assert tried(module)[1] is draws
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()


@pytest.mark.parametrize("size", [1, 4, 16])
@pytest.mark.parametrize(
    "loss",
    [
        nn.CrossEntropyLoss(reduction="sum"),
        lambda outputs, targets: F.cross_entropy(outputs, targets, reduction="sum") / 3,
        lambda outputs, targets: -outputs.log_softmax(1)[range(len(targets)), targets].sum()[None],
    ],
)
def test_a_sum_is_refused(loss, size):
    line = told(loss=loss, batch_size=size)
    assert line.startswith("loss: it is ")
    assert f"on {size} samples and " in line
    assert line.endswith(
        "a sum; it must be their mean, or one number for each (reduction='mean' or 'none')."
    )


@pytest.mark.parametrize(
    "score",
    [
        lambda outputs, targets: (outputs.argmax(1) == targets).sum(),
        lambda outputs, targets: int((outputs.argmax(1) == targets).sum()),
        lambda outputs, targets: (outputs.argmax(1) == targets).float().sum()[None],
    ],
)
def test_a_score_that_is_a_sum_is_refused(score):
    line = told(score=score)
    assert line.startswith("score: it is ")
    assert "on 48 samples and " in line
    assert line.endswith("a sum; it must be their mean, or one number for each.")


def penalized(outputs, targets):
    return F.cross_entropy(outputs, targets) + outputs.square().mean()


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize(
    "loss",
    [nn.CrossEntropyLoss(), nn.CrossEntropyLoss(reduction="none"), nn.MultiMarginLoss(), penalized],
)
def test_means_and_numbers_for_each_are_taken(loss, size):
    assert len(quick(loss=loss, batch_size=size).models) == 3


@pytest.mark.parametrize("name", ["outputs", "targets"])
@pytest.mark.parametrize("key", ["loss", "score"])
def test_a_loss_or_score_that_changes_what_it_gets_is_refused(key, name):
    """Later evaluations had wrong accuracies, and the caller's targets were changed."""
    X, y = (each.clone() for each in DATA)
    text = told(train=(X, y), test=(X, y), **{key: in_place(name)})
    assert text == f"{key}: it changes its {name} in place; copy them first."
    assert torch.equal(X, DATA[0])
    assert torch.equal(y, DATA[1])
