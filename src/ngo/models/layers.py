"""Layers that draw from their worker's generator: dropout and a variational autoencoder; layers in
a row; frozen layers; and one module for all workers at once, under ``torch.func.vmap``.

vmap cannot draw from several generators, and supports only torch's operations. So a forward pass
records what the random layers draw. The draws for all workers are made outside vmap, and replayed
inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise

import torch
from torch import nn

from ngo.common.seeding import torch_stream
from ngo.models.conv_pool import ConvPoolReLU2d, to_batch_last

# Draws a tensor from a generator.
Sample = Callable[[torch.Generator], torch.Tensor]


def draw(generator: torch.Generator, sample: Sample) -> torch.Tensor:
    """Draw from the generator."""
    return sample(generator)


class RandomLayer(nn.Module):
    """A layer that draws random numbers in training, from its worker's generator.

    ``source(generator, sample)`` returns the numbers. It is ``draw`` unless ``models.vectorized``
    replaces it.
    """

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.generator = generator
        self.source: Callable[[torch.Generator, Sample], torch.Tensor] = draw


class Dropout(RandomLayer):
    """Dropout. With ``channels`` it drops whole channels of ``[b, c, …]``, as Dropout2d does."""

    def __init__(
        self, generator: torch.Generator, probability: float = 0.5, *, channels: bool = False
    ) -> None:
        super().__init__(generator)
        self.probability = probability
        self.channels = channels

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Drop entries or channels of ``x`` in training; return ``x`` in evaluation."""
        if not self.training:
            return x
        keep = 1 - self.probability
        shape = (*x.shape[:2], *[1] * (x.dim() - 2)) if self.channels else x.shape

        def mask(generator: torch.Generator) -> torch.Tensor:
            empty = torch.empty(shape, dtype=x.dtype, device=generator.device)
            return empty.bernoulli_(keep, generator=generator).div_(keep)

        scale = self.source(self.generator, mask)
        return x * (to_batch_last(scale).movedim(-1, 0) if x.stride(0) == 1 else scale)


class VAE(RandomLayer):
    """Variational autoencoder: a Gaussian code ``[b, latent]`` per image, and a decoder of codes.

    ``encoder`` maps pixels in [0, 1] to ``[b, 2 · latent]``: the means, then the log-variances.
    ``decoder`` maps codes to the logits of the likelihood.

    In evaluation, the noise of each batch comes from the stream (0, "elbo") on the CPU. It is the
    same for every model, device and batch.
    """

    def __init__(
        self, encoder: nn.Module, decoder: nn.Module, latent: int, generator: torch.Generator
    ) -> None:
        super().__init__(generator)
        self.encoder = encoder
        self.decoder = decoder
        self.latent = latent

    def encode(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and log-variance of the codes of ``x``, ``[b, latent]`` each."""
        mean, log_variance = self.encoder(x).split(self.latent, 1)
        return mean, log_variance

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        """Logits of the images with the codes ``z``, ``[b, latent]``."""
        return self.decoder(z)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Logits of one random code per image of ``x``; the codes' mean and log-variance."""
        mean, log_variance = self.encode(x)

        def noise(generator: torch.Generator) -> torch.Tensor:
            return torch.randn(
                mean.shape, generator=generator, dtype=mean.dtype, device=generator.device
            )

        if self.training:
            drawn = self.source(self.generator, noise)
        else:
            drawn = noise(torch_stream(0, "elbo"))
        code = mean + (log_variance / 2).exp() * drawn.to(mean.device)
        return self.decode(code), mean, log_variance


def fully_connected(*sizes: int) -> list[nn.Module]:
    """Linear layers from each size to the next, with ReLU between them."""
    layers = [layer for pair in pairwise(sizes) for layer in (nn.Linear(*pair), nn.ReLU())]
    return layers[:-1]


def freeze(root: nn.Module) -> None:
    """Make frozen parameters (``requires_grad=False``) buffers, which workers do not exchange."""
    for module in root.modules():
        frozen = {k: p for k, p in module.named_parameters(recurse=False) if not p.requires_grad}
        for name, parameter in frozen.items():
            delattr(module, name)
            module.register_buffer(name, parameter.detach())


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
