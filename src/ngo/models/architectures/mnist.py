"""Models for MNIST, as in the supplement's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.models.model import model

if TYPE_CHECKING:
    import torch
    from torch import nn

LATENT = 2  # "fc(unit=2)" in the table


@model("mnist_cnn", input_shape=(1, 28, 28), task="classification", cpu_chunk=64)
def mnist_cnn(generator: torch.Generator) -> nn.Module:
    """MNIST classifier, 21,840 parameters, output log-probabilities ``[b, 10]``.

    The table's second "dropout2d" acts on a flat vector, so it is plain dropout.
    """
    from torch import nn

    from ngo.models.conv_pool import ConvPoolReLU2d
    from ngo.models.layers import Dropout

    return nn.Sequential(
        ConvPoolReLU2d(1, 10, 5),
        Dropout(generator, channels=True),
        ConvPoolReLU2d(10, 20, 5),
        nn.Flatten(),
        nn.Linear(320, 50),
        nn.ReLU(),
        Dropout(generator),
        nn.Linear(50, 10),
        nn.LogSoftmax(1),
    )


@model("mnist_fc", input_shape=(1, 28, 28), task="classification")
def mnist_fc(generator: torch.Generator) -> nn.Module:
    """Fully connected MNIST classifier, 159,010 parameters, output logits ``[b, 10]``.

    The original appendix (Table A1) gives no sizes; 784 → 200 → 10 with ReLU is assumed.
    """
    from torch import nn

    from ngo.models.layers import fully_connected

    return nn.Sequential(nn.Flatten(), *fully_connected(784, 200, 10))


@model("mnist_vae", input_shape=(1, 28, 28), task="vae")
def mnist_vae(generator: torch.Generator) -> nn.Module:
    """MNIST autoencoder, 1,068,820 parameters, Bernoulli logits ``[b, 1, 28, 28]``.

    784 → 512 → 256 → 2 and back. The table's final sigmoid is part of the likelihood. The encoder
    has a ReLU after 256, which the table omits, because two linear layers in a row equal one.
    """
    from torch import nn

    from ngo.models.layers import VAE, fully_connected

    return VAE(
        nn.Sequential(nn.Flatten(), *fully_connected(784, 512, 256, 2 * LATENT)),
        nn.Sequential(*fully_connected(LATENT, 256, 512, 784), nn.Unflatten(1, (1, 28, 28))),
        LATENT,
        generator,
    )
