"""Random crops and flips, as usual for CIFAR-10 (He et al. 2016, Section 4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.data.augmentation import augmentation

if TYPE_CHECKING:
    import torch

PADDING = 4


@augmentation("crop_flip")
def crop_flip(images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Pad each image with 4 black pixels, cut out a window of the original size, flip half of them.

    Every position of the window is equally likely, and left and right are exchanged with
    probability 1/2.
    """
    import torch
    from torch.nn.functional import pad

    from ngo.common.transfers import sent

    b, _, height, width = images.shape
    drawn = torch.randint(2 * PADDING + 1, (2, b), generator=generator)
    flipped = torch.rand(b, generator=generator) < 0.5
    every, top, left, flipped = (
        sent(index, images.device) for index in (torch.arange(b), *drawn, flipped)
    )
    windows = pad(images, [PADDING] * 4).unfold(2, height, 1).unfold(3, width, 1)
    cut = windows[every, :, top, left]
    return torch.where(flipped[:, None, None, None], cut.flip(3), cut)
