"""Variational autoencoders: those of the supplement's tables, and one with more codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.models.model import model

if TYPE_CHECKING:
    import torch
    from torch import nn

# Assumed: the table gives no size. A quarter of the 512 units on either side, and 4 % of the 3,072
# values of an image.
CIFAR_CODES = 128


@model("mnist_vae", input_shape=(1, 28, 28), task="vae")
def mnist_vae(generator: torch.Generator) -> nn.Module:
    """MNIST autoencoder, 1,068,820 parameters, Bernoulli logits ``[b, 1, 28, 28]``.

    784 → 512 → 256 → 2 and back ("fc(unit=2)" in the table). The table's final sigmoid is part of
    the likelihood. The encoder has a ReLU after 256, which the table omits: two linear layers in a
    row equal one.
    """
    return _mnist_vae(2, generator)


@model("mnist_vae_20", input_shape=(1, 28, 28), task="vae")
def mnist_vae_20(generator: torch.Generator) -> nn.Module:
    """MNIST autoencoder, 1,082,680 parameters, Bernoulli logits ``[b, 1, 28, 28]``.

    ``mnist_vae`` with 20 codes: 784 → 512 → 256 → 20 and back. The losses in the paper's Table S2
    may be of this model; its supplement states 2 codes.
    """
    return _mnist_vae(20, generator)


def _mnist_vae(codes: int, generator: torch.Generator) -> nn.Module:
    from torch import nn

    from ngo.models.layers import VAE, fully_connected

    return VAE(
        nn.Sequential(nn.Flatten(), *fully_connected(784, 512, 256, 2 * codes)),
        nn.Sequential(*fully_connected(codes, 256, 512, 784), nn.Unflatten(1, (1, 28, 28))),
        codes,
        generator,
    )


@model("cifar10_vae", input_shape=(3, 32, 32), task="vae", chunk=50, smallest_batch=2)
def cifar10_vae(generator: torch.Generator) -> nn.Module:
    """CIFAR-10 autoencoder, 1,414,592 parameters, logits ``[b, 256, 3, 32, 32]``.

    The decoder's last 768 channels are 256 logits, one per value, for each of the 3 colours. A
    logit's first index is the value, its second the colour. Batch normalization needs batches of 2
    or more in training.
    """
    from torch import nn

    from ngo.models.layers import VAE

    def conv(inputs: int, outputs: int, stride: int) -> nn.Module:
        return nn.Conv2d(inputs, outputs, 3, stride, padding=1)

    def deconv(inputs: int, outputs: int, stride: int) -> nn.Module:
        # The output padding makes stride 2 double the size exactly.
        return nn.ConvTranspose2d(inputs, outputs, 3, stride, padding=1, output_padding=stride - 1)

    def normed(layer: nn.Module, norm: nn.Module) -> tuple[nn.Module, ...]:
        return layer, norm, nn.ReLU()

    encoder = nn.Sequential(
        *normed(conv(3, 16, stride=1), nn.BatchNorm2d(16)),
        *normed(conv(16, 32, stride=2), nn.BatchNorm2d(32)),
        *normed(conv(32, 32, stride=1), nn.BatchNorm2d(32)),
        *normed(conv(32, 16, stride=2), nn.BatchNorm2d(16)),
        nn.Flatten(),
        *normed(nn.Linear(1024, 512), nn.BatchNorm1d(512)),
        nn.Linear(512, 2 * CIFAR_CODES),
    )
    decoder = nn.Sequential(
        *normed(nn.Linear(CIFAR_CODES, 512), nn.BatchNorm1d(512)),
        *normed(nn.Linear(512, 1024), nn.BatchNorm1d(1024)),
        nn.Unflatten(1, (64, 4, 4)),
        *normed(deconv(64, 32, stride=2), nn.BatchNorm2d(32)),
        *normed(deconv(32, 32, stride=1), nn.BatchNorm2d(32)),
        *normed(deconv(32, 16, stride=2), nn.BatchNorm2d(16)),
        deconv(16, 768, stride=2),
        nn.Unflatten(1, (256, 3)),
    )
    return VAE(encoder, decoder, CIFAR_CODES, generator)
