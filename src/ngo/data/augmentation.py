"""Augmentation of training images: random changes, drawn for every batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ngo.common.devices import sent
from ngo.common.lazy import nn, torch
from ngo.common.registries import AUGMENTATIONS
from ngo.native.card_streams import CardStreams

AUGMENTATIONS.add("none", None)


@dataclass(frozen=True)
class Augmentation:
    """It draws first, and then changes the images of all workers at once.

    Images are uint8 ``[…, channels, height, width]``. ``draw(b, generator)`` returns tensors
    ``[…, b]`` on the CPU, or from streams of k workers on a GPU ``[…, k · b]`` there, and
    ``change(images, *drawn)`` the changed images.
    """

    draw: Callable[[int, Any], Sequence[torch.Tensor]]
    change: Callable[..., torch.Tensor]

    def of_workers(
        self, images: torch.Tensor, b: int, generators: Sequence[torch.Generator] | CardStreams
    ) -> torch.Tensor:
        """Change the images of workers, b of each, one worker's after another's."""
        if isinstance(generators, CardStreams):
            return self.change(images, *self.draw(b, generators))
        drawn = zip(*(self.draw(b, generator) for generator in generators), strict=True)
        return self.change(images, *(sent(torch.cat(part, -1), images.device) for part in drawn))


PADDING = 4


def draw_windows(b: int, generator: torch.Generator | CardStreams) -> Sequence[torch.Tensor]:
    """The places of b windows, ``[2, b]``, and which are flipped, ``[b]``; b of each stream."""
    if isinstance(generator, CardStreams):
        uniform = generator.uniform((b, 3)).view(-1, 3).T
        return (uniform[:2] * (2 * PADDING + 1)).long(), uniform[2] < 0.5
    drawn = torch.randint(2 * PADDING + 1, (2, b), generator=generator)
    return drawn, torch.rand(b, generator=generator) < 0.5


def cut_windows(images: torch.Tensor, places: torch.Tensor, flipped: torch.Tensor) -> torch.Tensor:
    """Pad each image with 4 black pixels, cut out a window of the original size, flip half of them.

    Every position of the window is equally likely, and left and right are exchanged with
    probability 1/2.
    """
    b, _, height, width = images.shape
    every = torch.arange(b, device=images.device)
    windows = nn.functional.pad(images, [PADDING] * 4).unfold(2, height, 1).unfold(3, width, 1)
    cut = windows[every, :, places[0], places[1]]
    return torch.where(flipped[:, None, None, None], cut.flip(3), cut)


crop_flip = Augmentation(draw_windows, cut_windows)
AUGMENTATIONS.add("crop_flip", crop_flip, cut_windows)
