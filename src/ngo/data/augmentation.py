"""Augmentation of training images: random changes, drawn for every batch.

An augmentation is a function of a batch of images and a random stream, registered with
``@augmentation`` here or in a plugin.
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


PADDING = 4


@augmentation("crop_flip")
def crop_flip(images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Pad each image with 4 black pixels, cut out a window of the original size, flip half of them.

    Every position of the window is equally likely, and left and right are exchanged with
    probability 1/2.
    """
    import torch
    from torch.nn.functional import pad

    from ngo.common.devices import sent

    b, _, height, width = images.shape
    drawn = torch.randint(2 * PADDING + 1, (2, b), generator=generator)
    flipped = torch.rand(b, generator=generator) < 0.5
    every, top, left, flipped = (
        sent(index, images.device) for index in (torch.arange(b), *drawn, flipped)
    )
    windows = pad(images, [PADDING] * 4).unfold(2, height, 1).unfold(3, width, 1)
    cut = windows[every, :, top, left]
    return torch.where(flipped[:, None, None, None], cut.flip(3), cut)
