"""Models for CIFAR-10, as in the supplement's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.models.model import model

if TYPE_CHECKING:
    import torch
    from torch import nn

# Assumed: the table gives no size. A quarter of the 512 units on either side, and 4 % of the 3,072
# values of an image.
LATENT = 128


@model("cifar10_cnn", input_shape=(3, 32, 32), task="classification", cpu_chunk=64)
def cifar10_cnn(generator: torch.Generator) -> nn.Module:
    """CIFAR-10 classifier, 62,006 parameters, output logits ``[b, 10]``.

    In the table ReLU comes before pooling. The result is the same, and pooling first leaves a
    quarter of the values for ReLU.
    """
    from torch import nn

    from ngo.models.conv_pool import ConvPoolReLU2d
    from ngo.models.layers import fully_connected

    return nn.Sequential(
        ConvPoolReLU2d(3, 6, 5),
        ConvPoolReLU2d(6, 16, 5),
        nn.Flatten(),
        *fully_connected(400, 120, 84, 10),
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
        nn.Linear(512, 2 * LATENT),
    )
    decoder = nn.Sequential(
        *normed(nn.Linear(LATENT, 512), nn.BatchNorm1d(512)),
        *normed(nn.Linear(512, 1024), nn.BatchNorm1d(1024)),
        nn.Unflatten(1, (64, 4, 4)),
        *normed(deconv(64, 32, stride=2), nn.BatchNorm2d(32)),
        *normed(deconv(32, 32, stride=1), nn.BatchNorm2d(32)),
        *normed(deconv(32, 16, stride=2), nn.BatchNorm2d(16)),
        deconv(16, 768, stride=2),
        nn.Unflatten(1, (256, 3)),
    )
    return VAE(encoder, decoder, LATENT, generator)
