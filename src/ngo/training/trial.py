"""A trial of a user's module and loss on a few samples, before the training."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch

from ngo.common.registry import UserError
from ngo.data.dataset import Dataset
from ngo.engine.backend import in_float32
from ngo.models.model import Model
from ngo.models.task import Task
from ngo.models.tasks.classification import correct
from ngo.training.global_state import restored_streams, streams
from ngo.training.own import Loss, check_outputs, has_logits, kind, refused, shape


def try_out(model: Model, data: Dataset, task: Task, size: int) -> tuple[Task, bool]:
    """Take a gradient of the model on the first ``size`` samples, and evaluate it on them.

    Returns the task, without the default score if the outputs are not logits; and whether torch's,
    NumPy's or Python's global random stream was drawn from.
    Raises a one-line UserError for a mistake.
    """
    inputs, targets = data.train_inputs[:size], data.train_targets[:size]
    device = inputs.device
    outputs: Any = None
    with restored_streams():
        module = model.build(torch.Generator(device)).to(device)
        before = streams()
        for training in (True, False):
            module.train(training)
            given = inputs.clone()
            with refused(f"module: it failed on inputs of {kind(inputs)}"):
                outputs = module(given)
            if not torch.equal(given, inputs) and not given.isnan().any():
                raise UserError("module: it changes its inputs in place; copy them first.")
            outputs = in_float32(outputs)
            check_outputs(outputs, targets, task, data)
            with refused(
                f"loss: it failed on outputs {shape(outputs)} and targets {shape(targets)}"
            ):
                losses = task.loss(outputs, targets)
                if training:
                    losses.mean().backward()
            if task.score is not None and task.score is not correct:
                with (
                    refused(
                        f"score: it failed on outputs {shape(outputs)} and targets {shape(targets)}"
                    ),
                    torch.no_grad(),
                ):
                    task.score(outputs, targets)
        draws = streams() != before
    if task.score is correct and not has_logits(outputs, data.classes):
        task = replace(task, score=None)
    return task, draws


@torch.no_grad()
def refuse_not_finite(model: Model, data: Dataset, task: Task, size: int) -> None:
    """Raise a UserError for inputs or targets that are not finite, and make a loss that is not.

    A module may replace such inputs, and a loss may leave out such targets: at most ``size`` of
    these samples are tried.
    """
    for key, inputs, targets in (
        ("train", data.train_inputs, data.train_targets),
        ("test", data.test_inputs, data.test_targets),
    ):
        for name, values in (("inputs", inputs), ("targets", targets)):
            wrong = ~values.isfinite()
            if not wrong.any():
                continue
            rows = wrong.reshape(len(wrong), -1).any(1).nonzero()[:size, 0]
            with restored_streams(), refused(f"{key}: {name} that are not finite failed"):
                module = model.build(torch.Generator(inputs.device)).to(inputs.device).eval()
                losses = task.loss(in_float32(module(inputs[rows])), targets[rows])
            if not losses.isfinite().all():
                count = int(wrong.sum())
                raise UserError(
                    f"{key}: the {name} have {count:,} value{'s' * (count > 1)} that "
                    f"{'are' if count > 1 else 'is'} not finite; leave out these samples, or "
                    f"replace the values."
                )


@torch.no_grad()
def refuse_sum(loss: Loss, model: Model, data: Dataset, size: int) -> None:
    """Raise a UserError for a loss that doubles when each sample comes twice: a sum.

    It is tried on the first ``size`` samples, with the model in eval mode. The gradient of a sum
    grows with the batch, and with it the effective learning rate.
    """
    inputs, targets = data.train_inputs[:size], data.train_targets[:size]
    with restored_streams():
        module = model.build(torch.Generator(inputs.device)).to(inputs.device).eval()
        once, twice = (
            loss(in_float32(module(torch.cat([inputs] * k))), torch.cat([targets] * k))
            for k in (1, 2)
        )
    if twice.numel() > 1:  # one number for each sample
        return
    if once != 0 and math.isclose(twice, 2 * once, rel_tol=1e-3):
        raise UserError(
            f"loss: it is {float(once):.4g} on {len(inputs)} samples and {float(twice):.4g} if "
            f"each comes twice, a sum; it must be their mean, or one number for each "
            f"(reduction='mean' or 'none')."
        )
