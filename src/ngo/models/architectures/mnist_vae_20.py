"""The supplement's autoencoder for MNIST with 20 codes in place of 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.models.model import model

if TYPE_CHECKING:
    import torch
    from torch import nn

LATENT = 20


@model("mnist_vae_20", input_shape=(1, 28, 28), task="vae")
def mnist_vae_20(generator: torch.Generator) -> nn.Module:
    """MNIST autoencoder, 1,082,680 parameters, Bernoulli logits ``[b, 1, 28, 28]``.

    ``mnist_vae`` with 784 → 512 → 256 → 20 and back: a trial of what the losses in Table S2 of the
    paper may be of. Its supplement states 2 codes.
    """
    from torch import nn

    from ngo.models.layers import VAE, fully_connected

    return VAE(
        nn.Sequential(nn.Flatten(), *fully_connected(784, 512, 256, 2 * LATENT)),
        nn.Sequential(*fully_connected(LATENT, 256, 512, 784), nn.Unflatten(1, (1, 28, 28))),
        LATENT,
        generator,
    )
