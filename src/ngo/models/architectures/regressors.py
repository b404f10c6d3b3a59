"""Models for the paper's two regression problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.models.model import model

if TYPE_CHECKING:
    import torch
    from torch import nn


@model("toy_net", input_shape=(1,), task="regression")
def toy_net(generator: torch.Generator) -> nn.Module:
    """Model of the toy example (Figure S6), 4,353 parameters, output ``[b, 1]``.

    1 → 64 → 64 → 1. The paper draws a ReLU at the end, which cannot fit the negative half of a
    sine; here the last layer is linear.
    """
    from torch import nn

    from ngo.models.layers import fully_connected

    return nn.Sequential(*fully_connected(1, 64, 64, 1))


@model("linear", input_shape=(10,), task="regression")
def linear(generator: torch.Generator) -> nn.Module:
    """Linear model for least squares (Figure 1): 10 weights, no intercept, output ``[b, 1]``."""
    from torch import nn

    return nn.Linear(10, 1, bias=False)
