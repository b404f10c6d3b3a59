"""Modules that draw at random, from a generator of their own instead of torch's global one."""

import torch
from torch import nn

from ngo.seeding import torch_stream


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
        generator = self.generator if self.training else torch_stream(0, "elbo")
        noise = torch.randn(
            mean.shape, generator=generator, dtype=mean.dtype, device=generator.device
        )
        code = mean + (log_variance / 2).exp() * noise.to(mean.device)
        return self.decode(code), mean, log_variance
