"""Augmentation of training images: random changes, drawn for every batch.

An augmentation is a function of a batch of images and a random stream, registered with
``@augmentation`` in ``ngo.data.augmentations`` or in a plugin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ngo.common.registry import Registry

if TYPE_CHECKING:
    import torch

#: (images uint8 [b, channels, height, width], the worker's stream on the CPU) → changed images.
Augment = Callable[["torch.Tensor", "torch.Generator"], "torch.Tensor"]

AUGMENTATIONS: Registry[Augment | None] = Registry("augmentation")


def augmentation(name: str, *, version: int = 1) -> Callable[[Augment], Augment]:
    """Register a function that changes a batch of images at random.

    ``version`` is raised when its results change.
    """

    def register(augment: Augment) -> Augment:
        return AUGMENTATIONS.add(name, augment, augment, version)

    return register


AUGMENTATIONS.add("none", None)
