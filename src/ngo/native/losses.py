"""Losses of chains, compiled from ``losses.c``, and the targets that they take."""

from __future__ import annotations

from collections.abc import Sequence

from ngo.common.lazy import torch
from ngo.native.arguments import check_tensor

# In the order of their numbers in layer_chain.c.
LOSSES = ("cross_entropy", "squared_error", "negative_elbo")


def check_targets(
    loss: str, targets: torch.Tensor, m: int, outputs: int, input_shape: Sequence[int]
) -> None:
    """Raise ValueError unless these are the targets of m samples.

    They are classes (int64 ``[m]``), numbers (float32 ``[m, outputs]``) or uint8 images.
    """
    shape, kind = {
        "cross_entropy": ((m,), torch.int64),
        "squared_error": ((m, outputs), torch.float32),
        "negative_elbo": ((m, *input_shape), torch.uint8),
    }[loss]
    check_tensor("targets", targets, shape, kind)
