"""The CIFAR-10 classifier with an output for each class of CIFAR-100."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.models.model import model

if TYPE_CHECKING:
    import torch
    from torch import nn


@model("cifar100_cnn", input_shape=(3, 32, 32), task="classification", cpu_chunk=64)
def cifar100_cnn(generator: torch.Generator) -> nn.Module:
    """CIFAR-100 classifier, 69,656 parameters, output logits ``[b, 100]``."""
    from torch import nn

    from ngo.models.conv_pool import ConvPoolReLU2d
    from ngo.models.layers import fully_connected

    return nn.Sequential(
        ConvPoolReLU2d(3, 6, 5),
        ConvPoolReLU2d(6, 16, 5),
        nn.Flatten(),
        *fully_connected(400, 120, 84, 100),
    )
