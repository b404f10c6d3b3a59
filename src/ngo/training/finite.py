"""Whether the data and the model of a run give finite losses and gradients."""

from __future__ import annotations

import math

import torch

from ngo.common.registry import UserError
from ngo.data.dataset import Dataset
from ngo.engine.backend import in_float32
from ngo.models.model import Model
from ngo.models.task import Task
from ngo.training.global_state import restored_streams
from ngo.training.trial import OWN, Names, built


def refuse_not_finite(
    model: Model, data: Dataset, task: Task, size: int, names: Names = OWN
) -> None:
    """Raise a UserError for inputs or targets that are not finite, and make a loss or gradient so.

    A module may replace such inputs, and a loss may leave out such targets: at most ``size`` of the
    samples with NaN are tried, and as many with each infinity.
    """
    for key, inputs, targets in (
        ("train", data.train_inputs, data.train_targets),
        ("test", data.test_inputs, data.test_targets),
    ):
        for name, values in (("inputs", inputs), ("targets", targets)):
            if not values.is_floating_point() or bool(values.isfinite().all()):
                continue
            for wrong in (values.isnan(), values == math.inf, values == -math.inf):
                rows = wrong.reshape(len(wrong), -1).any(1).nonzero()[:size, 0]
                what = f"{names.data}{key}: the {name}"
                if len(rows) and not _finite(model, data, task, inputs[rows], targets[rows], names):
                    count = int((~values.isfinite()).sum())
                    raise UserError(
                        f"{what} have {count:,} value{'s' * (count > 1)} that "
                        f"{'are' if count > 1 else 'is'} not finite; leave out these samples, or "
                        f"replace the values."
                    )


def _finite(
    model: Model,
    data: Dataset,
    task: Task,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    names: Names,
) -> bool:
    """Whether the loss on these samples, and its gradient, are finite; False if it fails."""
    with restored_streams():
        module = built(model, inputs.device, names).eval()
        try:
            inputs, targets = task.batch(data, inputs, targets)
            losses = task.loss(in_float32(module(inputs)), targets)
            losses.mean().backward()
        except Exception:  # any error of the module or the loss, at such values
            return False
    gradients = [each.grad for each in module.parameters() if each.grad is not None]
    return all(bool(each.isfinite().all()) for each in (losses, *gradients))
