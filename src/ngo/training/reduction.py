"""Whether a user's loss is the mean of its samples."""

from __future__ import annotations

import math

import torch

from ngo.common.registry import UserError
from ngo.data.dataset import Dataset
from ngo.engine.backend import in_float32
from ngo.models.model import Model
from ngo.training.global_state import restored_streams
from ngo.training.own import Loss


@torch.no_grad()
def refuse_sum(loss: Loss, model: Model, data: Dataset, size: int) -> None:
    """Raise a UserError for a loss that doubles when each sample comes twice: a sum.

    It is tried on the first ``size`` samples, with the model in evaluation. The gradient of a sum
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
