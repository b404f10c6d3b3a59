"""Layers that torch has only with its global random generator."""

import torch
from torch import nn


class Dropout(nn.Module):
    """Dropout whose masks come from the worker's own generator.

    ``channels`` drops whole channels of ``[b, c, h, w]`` (torch's Dropout2d).
    """

    def __init__(
        self, generator: torch.Generator, probability: float = 0.5, *, channels: bool = False
    ) -> None:
        super().__init__()
        self.generator = generator
        self.probability = probability
        self.channels = channels

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Drop entries (or channels) of ``x`` in training; ``x`` itself in evaluation."""
        if not self.training:
            return x
        keep = 1 - self.probability
        shape = (*x.shape[:2], 1, 1) if self.channels else x.shape
        mask = torch.empty(shape, dtype=x.dtype, device=x.device)
        return x * mask.bernoulli_(keep, generator=self.generator).div_(keep)
