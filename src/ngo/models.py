"""The paper's networks, as in the supplement's tables.

A model is a function of a generator (for dropout and the codes of autoencoders) that builds a
module; it is registered with the shape of its input and the task it serves. (torch is imported
where it is used, so that the names can be checked without its start-up cost.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ngo.registry import Decorator, Registry

if TYPE_CHECKING:
    import torch
    from torch import nn


@dataclass(frozen=True)
class Model:
    """``build(generator)`` makes a module; its input is ``[b, *input_shape]``.

    ``chunk`` is the number of samples of one forward pass of an evaluation, which have to fit into
    memory; ``cpu_chunk`` that on a CPU, where fewer stay in a core's cache. ``smallest_batch`` is
    what training needs.
    """

    build: Callable[[torch.Generator], nn.Module]
    input_shape: tuple[int, ...]
    task: str
    chunk: int = 250
    cpu_chunk: int | None = None
    smallest_batch: int = 1

    def chunk_on(self, device: torch.device) -> int:
        """The samples of one forward pass of an evaluation there."""
        return (device.type == "cpu" and self.cpu_chunk) or self.chunk


MODELS: Registry[Model] = Registry("model")

MNIST_LATENT = 2  # the table's fc(unit=2)

# Assumed: the table names no size. A quarter of the 512 units on either side, 4 % of the image's
# 3,072 values.
CIFAR10_LATENT = 128


def model(name: str, **facts: Any) -> Decorator:
    """Register a model under the name that configs and the command line use."""

    def register(
        build: Callable[[torch.Generator], nn.Module],
    ) -> Callable[[torch.Generator], nn.Module]:
        MODELS.add(name, Model(build, **facts))
        return build

    return register


@model("mnist_cnn", input_shape=(1, 28, 28), task="classification", cpu_chunk=64)
def mnist_cnn(generator: torch.Generator) -> nn.Module:
    """MNIST classifier, 21,840 parameters, output log-probabilities ``[b, 10]``.

    The table's second "dropout2d" acts on a flat vector: plain dropout.
    """
    from torch import nn

    from ngo.layers import ConvPoolReLU2d, Dropout

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

    return nn.Sequential(nn.Flatten(), *_fully_connected(784, 200, 10))


@model("mnist_vae", input_shape=(1, 28, 28), task="vae")
def mnist_vae(generator: torch.Generator) -> nn.Module:
    """MNIST autoencoder, 1,068,820 parameters, Bernoulli logits ``[b, 1, 28, 28]``.

    784 → 512 → 256 → 2 and back. The table's final sigmoid is in the likelihood; the ReLU after
    256, which the table leaves out in the encoder, is there: without it two linear layers would be
    one.
    """
    from torch import nn

    from ngo.layers import VAE

    return VAE(
        nn.Sequential(nn.Flatten(), *_fully_connected(784, 512, 256, 2 * MNIST_LATENT)),
        nn.Sequential(*_fully_connected(MNIST_LATENT, 256, 512, 784), nn.Unflatten(1, (1, 28, 28))),
        MNIST_LATENT,
        generator,
    )


@model("cifar10_cnn", input_shape=(3, 32, 32), task="classification", cpu_chunk=64)
def cifar10_cnn(generator: torch.Generator) -> nn.Module:
    """CIFAR-10 classifier, 62,006 parameters, output logits ``[b, 10]``.

    The table has each ReLU before its pooling: the largest of four is the same either way, and
    after it there are fewer.
    """
    from torch import nn

    from ngo.layers import ConvPoolReLU2d

    return nn.Sequential(
        ConvPoolReLU2d(3, 6, 5),
        ConvPoolReLU2d(6, 16, 5),
        nn.Flatten(),
        *_fully_connected(400, 120, 84, 10),
    )


@model("cifar10_vae", input_shape=(3, 32, 32), task="vae", chunk=50, smallest_batch=2)
def cifar10_vae(generator: torch.Generator) -> nn.Module:
    """CIFAR-10 autoencoder, 1,414,592 parameters, logits ``[b, 256, 3, 32, 32]``.

    The decoder's last 768 channels are 256 logits, one for each value, of each of the 3 colours:
    a logit's first index is the value, its second the colour. Batch norm needs batches of 2 or
    more in training.
    """
    from torch import nn

    from ngo.layers import VAE

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
        nn.Linear(512, 2 * CIFAR10_LATENT),
    )
    decoder = nn.Sequential(
        *normed(nn.Linear(CIFAR10_LATENT, 512), nn.BatchNorm1d(512)),
        *normed(nn.Linear(512, 1024), nn.BatchNorm1d(1024)),
        nn.Unflatten(1, (64, 4, 4)),
        *normed(deconv(64, 32, stride=2), nn.BatchNorm2d(32)),
        *normed(deconv(32, 32, stride=1), nn.BatchNorm2d(32)),
        *normed(deconv(32, 16, stride=2), nn.BatchNorm2d(16)),
        deconv(16, 768, stride=2),
        nn.Unflatten(1, (256, 3)),
    )
    return VAE(encoder, decoder, CIFAR10_LATENT, generator)


@model("resnet18", input_shape=(3, 64, 64), task="classification")
def resnet18(generator: torch.Generator) -> nn.Module:
    """Tiny ImageNet classifier, 11,279,112 parameters, output logits ``[b, 200]``.

    torchvision's ResNet-18, untrained, with 200 classes.
    """
    from torchvision.models import resnet18

    return resnet18(weights=None, num_classes=200)


@model("toy_net", input_shape=(1,), task="regression")
def toy_net(generator: torch.Generator) -> nn.Module:
    """Network of the toy example (Figure S6), 4,353 parameters, output ``[b, 1]``.

    1 → 64 → 64 → 1. The paper draws a ReLU at the end, which can't fit the negative half of a
    sine; this one ends linear.
    """
    from torch import nn

    return nn.Sequential(*_fully_connected(1, 64, 64, 1))


@model("linear", input_shape=(10,), task="regression")
def linear(generator: torch.Generator) -> nn.Module:
    """Least squares (Figure 1): 10 weights and no intercept, output ``[b, 1]``."""
    from torch import nn

    return nn.Linear(10, 1, bias=False)


def _fully_connected(*sizes: int) -> list[nn.Module]:
    """Linear layers from each size to the next, with ReLU between them."""
    from torch import nn

    layers = [layer for pair in pairwise(sizes) for layer in (nn.Linear(*pair), nn.ReLU())]
    return layers[:-1]
