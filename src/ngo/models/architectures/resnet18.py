"""ResNet-18 for Tiny ImageNet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.models.model import model

if TYPE_CHECKING:
    import torch
    from torch import nn


@model("resnet18", input_shape=(3, 64, 64), task="classification")
def resnet18(generator: torch.Generator) -> nn.Module:
    """Tiny ImageNet classifier, 11,279,112 parameters, output logits ``[b, 200]``.

    torchvision's ResNet-18, untrained, with 200 classes.
    """
    from torchvision.models import resnet18

    return resnet18(weights=None, num_classes=200)
