"""Image classifiers: those of the supplement's tables, and ResNet-18."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.models.model import model

if TYPE_CHECKING:
    import torch
    from torch import nn


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


@model("cifar10_cnn", input_shape=(3, 32, 32), task="classification", cpu_chunk=64)
def cifar10_cnn(generator: torch.Generator) -> nn.Module:
    """CIFAR-10 classifier, 62,006 parameters, output logits ``[b, 10]``.

    In the table, ReLU comes before pooling. The result is the same with pooling first, which leaves
    a quarter of the values for ReLU.
    """
    return _cifar_cnn(10)


@model("cifar100_cnn", input_shape=(3, 32, 32), task="classification", cpu_chunk=64)
def cifar100_cnn(generator: torch.Generator) -> nn.Module:
    """CIFAR-100 classifier, 69,656 parameters, output logits ``[b, 100]``: ``cifar10_cnn`` with 100
    outputs.
    """
    return _cifar_cnn(100)


def _cifar_cnn(classes: int) -> nn.Module:
    from torch import nn

    from ngo.models.conv_pool import ConvPoolReLU2d
    from ngo.models.layers import fully_connected

    return nn.Sequential(
        ConvPoolReLU2d(3, 6, 5),
        ConvPoolReLU2d(6, 16, 5),
        nn.Flatten(),
        *fully_connected(400, 120, 84, classes),
    )


@model("resnet18", input_shape=(3, 64, 64), task="classification")
def resnet18(generator: torch.Generator) -> nn.Module:
    """Tiny ImageNet classifier, 11,279,112 parameters, output logits ``[b, 200]``.

    torchvision's ResNet-18, untrained, with 200 classes.
    """
    from torchvision.models import resnet18

    return resnet18(weights=None, num_classes=200)
