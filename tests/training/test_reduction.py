"""A loss that is a sum over the batch is refused."""

import pytest
import torch
from own_modules import DATA, quick, told
from torch import nn
from torch.nn import functional as F


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


def penalized(outputs, targets):
    return F.cross_entropy(outputs, targets) + outputs.square().mean()


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize(
    "loss",
    [nn.CrossEntropyLoss(), nn.CrossEntropyLoss(reduction="none"), nn.MultiMarginLoss(), penalized],
)
def test_means_and_numbers_for_each_are_taken(loss, size):
    assert len(quick(loss=loss, batch_size=size).models) == 3


def test_a_loss_of_0_is_taken():
    assert quick(loss=lambda outputs, targets: 0 * outputs.sum()).metrics["V"].iloc[-1] == 0


def test_a_mean_over_the_numbers_of_each_sample_is_taken():
    module = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(3), nn.Linear(3, 3))
    assert len(quick(module, (DATA[0],) * 2, loss=nn.MSELoss()).models) == 3


def test_the_trial_changes_no_result():
    """A module that draws from torch's global stream: with its own loss, and with the default."""

    class Noisy(nn.Linear):
        def forward(self, x):
            return super().forward(x + torch.randn_like(x))

    module = Noisy(3, 4)
    default, own = quick(module), quick(module, loss=nn.CrossEntropyLoss())
    assert torch.allclose(default.consensus.weight, own.consensus.weight)
