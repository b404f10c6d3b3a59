"""Modules that torch lacks, or has in a form that does not serve here.

Those that draw at random do so from a generator of their own instead of torch's global one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import nn
from torch.nn import functional as F

from ngo import kernels
from ngo.seeding import torch_stream

Draw = Callable[[torch.Generator], torch.Tensor]
_draws: ContextVar[Callable[[torch.Generator, Draw], torch.Tensor] | None] = ContextVar(
    "draws", default=None
)


def drawn(generator: torch.Generator, draw: Draw) -> torch.Tensor:
    """``draw(generator)``, unless the block is one of :func:`recorded` or :func:`replayed`."""
    source = _draws.get()
    return draw(generator) if source is None else source(generator, draw)


@contextmanager
def recorded(draws: list[Draw]) -> Iterator[None]:
    """Note what is drawn in this block, in order; the generators stay where they are."""

    def record(generator: torch.Generator, draw: Draw) -> torch.Tensor:
        draws.append(draw)
        return draw(torch.Generator(generator.device))

    with _source(record):
        yield


@contextmanager
def replayed(values: Iterable[torch.Tensor]) -> Iterator[None]:
    """Give these values, in order, to what is drawn in this block."""
    left = iter(values)
    with _source(lambda generator, draw: next(left)):
        yield


@contextmanager
def _source(source: Callable[[torch.Generator, Draw], torch.Tensor]) -> Iterator[None]:
    token = _draws.set(source)
    try:
        yield
    finally:
        _draws.reset(token)


class _ConvPoolReLU(torch.autograd.Function):
    """:func:`ngo.kernels.conv_pool_relu` on images ``[b, channels, h, w]``."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        last, taps = _batch_last(x), weight.contiguous()
        y, which = kernels.conv_pool_relu(last, taps, bias.contiguous())
        # What was given too, of which the others may be copies: autograd sees if it was changed.
        ctx.save_for_backward(x, weight, bias, last, taps, which)
        return y.movedim(-1, 0)

    @staticmethod
    def backward(ctx, slope):
        *given, last, taps, which = ctx.saved_tensors
        if torch.is_grad_enabled():  # the slopes are to be differentiated, too
            return tuple(_slopes(given, slope, ctx.needs_input_grad))
        dx, dw, db = kernels.conv_pool_relu_backward(
            last, taps, which, _batch_last(slope), of_input=ctx.needs_input_grad[0]
        )
        return dx if dx is None else dx.movedim(-1, 0), dw, db


def _slopes(
    given: list[torch.Tensor], slope: torch.Tensor, needed: tuple[bool, ...]
) -> list[torch.Tensor | None]:
    """The slopes of x, weight and bias, by torch's operations."""
    x, weight, bias = apart = [tensor.view_as(tensor) for tensor in given]
    wanted = [tensor for tensor, need in zip(apart, needed, strict=True) if need]
    y = F.relu(F.max_pool2d(F.conv2d(x, weight, bias), 2))
    slopes = iter(torch.autograd.grad(y, wanted, slope, create_graph=True))
    return [next(slopes) if need else None for need in needed]


def _batch_last(x: torch.Tensor) -> torch.Tensor:
    return x.movedim(0, -1).contiguous()


class ConvPoolReLU2d(nn.Conv2d):
    """Conv2d, the largest output of every 2 × 2 after it, and ReLU; it takes what Conv2d takes.

    On a CPU, one without padding, stride, dilation or groups is compiled (:mod:`ngo.kernels`): its
    output has the batch last in memory, which what follows can leave so. All others are torch's
    operations, and so are second derivatives.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``[b, in, h, w]`` to ``[b, out, (h − k + 1) // 2, (w − k + 1) // 2]``."""
        weight, bias = self.weight, self.bias
        if self._plain() and _can_be_compiled(x, weight, bias):
            return _ConvPoolReLU.apply(x, weight, bias)
        return F.relu(F.max_pool2d(super().forward(x), 2))

    def _plain(self) -> bool:
        return (
            self.padding in ((0, 0), "valid")
            and self.stride == self.dilation == (1, 1)
            and self.groups == 1
        )


def _can_be_compiled(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> bool:
    _, channels, k, width = weight.shape
    return (
        k == width
        and k in kernels.KERNEL_SIZES
        and bias is not None
        and x.is_cpu
        and weight.is_cpu
        and bias.is_cpu
        and x.dtype == weight.dtype == bias.dtype == torch.float32
        and x.dim() == 4
        and x.shape[1] == channels
        and min(x.shape[2:]) > k  # 2 × 2 outputs at least
        and len(x) > 0
        and _draws.get() is None  # vmap knows torch's operations only
        and not torch.is_autocast_enabled("cpu")
        and kernels.available()
    )


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

        def mask(generator: torch.Generator) -> torch.Tensor:
            empty = torch.empty(shape, dtype=x.dtype, device=generator.device)
            return empty.bernoulli_(keep, generator=generator).div_(keep)

        scale = drawn(self.generator, mask)
        return x * (_batch_last(scale).movedim(-1, 0) if x.stride(0) == 1 else scale)


class VAE(nn.Module):
    """Variational autoencoder: a Gaussian code ``[b, latent]`` of an image, and a decoder of codes.

    ``encoder`` takes pixels in [0, 1] to ``[b, 2 · latent]``, the means and then the logarithms of
    the variances; ``decoder`` takes codes to the logits of the likelihood.

    In training the code's noise comes from the worker's own ``generator``. In evaluation every
    batch gets the noise of the stream (0, "elbo"), drawn on the CPU: the same for every model,
    device and order of the batches.
    """

    def __init__(
        self, encoder: nn.Module, decoder: nn.Module, latent: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.latent = latent
        self.generator = generator

    def encode(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and logarithm of the variance of the codes of ``x``, ``[b, latent]`` each."""
        mean, log_variance = self.encoder(x).split(self.latent, 1)
        return mean, log_variance

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        """Logits of the images with the codes ``z``, ``[b, latent]``."""
        return self.decoder(z)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Logits of a code drawn for each image of ``x``, and the codes' mean and log-variance."""
        mean, log_variance = self.encode(x)

        def noise(generator: torch.Generator) -> torch.Tensor:
            return torch.randn(
                mean.shape, generator=generator, dtype=mean.dtype, device=generator.device
            )

        if self.training:
            drawn_noise = drawn(self.generator, noise)
        else:
            drawn_noise = noise(torch_stream(0, "elbo"))
        code = mean + (log_variance / 2).exp() * drawn_noise.to(mean.device)
        return self.decode(code), mean, log_variance
