"""Running one module for all workers at once, under ``torch.func.vmap``.

vmap cannot draw from several generators, and supports only torch's operations. So a forward pass
records what the random layers draw. The draws for all workers are made outside vmap, and replayed
inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from ngo.models.conv_pool import ConvPoolReLU2d
from ngo.models.layers import RandomLayer, Sample, draw


@contextmanager
def recorded(module: nn.Module, samples: list[Sample]) -> Iterator[None]:
    """Append the module's draws in this block to ``samples``, in order.

    The workers' generators do not advance.
    """

    def record(generator: torch.Generator, sample: Sample) -> torch.Tensor:
        samples.append(sample)
        return sample(torch.Generator(generator.device))

    with _source(module, record):
        yield


@contextmanager
def replayed(module: nn.Module, values: Iterable[torch.Tensor]) -> Iterator[None]:
    """Return ``values``, in order, for the module's draws in this block."""
    remaining = iter(values)
    with _source(module, lambda generator, sample: next(remaining)):
        yield


@contextmanager
def _source(
    module: nn.Module, source: Callable[[torch.Generator, Sample], torch.Tensor]
) -> Iterator[None]:
    random = [layer for layer in module.modules() if isinstance(layer, RandomLayer)]
    convolutions = [layer for layer in module.modules() if isinstance(layer, ConvPoolReLU2d)]
    for layer in random:
        layer.source = source
    for layer in convolutions:
        layer.compiled = False
    try:
        yield
    finally:
        for layer in random:
            layer.source = draw
        for layer in convolutions:
            layer.compiled = True
