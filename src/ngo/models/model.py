"""Models: functions that build a module, with the shape of its input and its task.

Those of the supplement's tables, ResNet-18, and small language models. Layers are imported when a
module is built, so that names can be checked without torch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeAlias

from ngo.common.fields import registers
from ngo.common.lazy import nn, torch
from ngo.common.registries import MODELS
from ngo.data.sets.synthetic import CHARACTERS, LENGTH
from verdicts.lazy import Library

# Both import torch.
layers, transformer = map(Library, ("ngo.models.layers", "ngo.models.transformer"))

Build: TypeAlias = "Callable[[torch.Generator], nn.Module]"


@dataclass(frozen=True)
class Model:
    """How a model is built, and what it takes."""

    # Builds a module. The generator is that of the worker, for dropout and autoencoders' noise.
    build: Build

    # The shape of one input.
    input_shape: tuple[int, ...]

    # The name of its task, see ``ngo.models.task``.
    task: str

    # Samples per forward pass of an evaluation; they must fit into memory.
    chunk: int = 250

    # The same on a CPU, where fewer samples stay in a core's cache; None: no difference.
    cpu_chunk: int | None = None

    # The smallest batch that can be trained on.
    smallest_batch: int = 1

    # Whether compiled operations may take passes: not those of the package's own models, whose runs
    # keep their bytes.
    brought: bool = False

    # Whether convolutions keep torch's layout, in which their outputs have views.
    contiguous: bool = False

    # Whether it draws from torch's global stream, which is then the worker's. This and what follows
    # is found when a run starts with a model that someone brought.
    draws: bool = False

    # The functions of torch by which it does, so that several threads can; None: in one thread, in
    # which its layers of dropout draw from that stream, too.
    functions: Collection[Any] | None = frozenset()

    # Whether evaluations draw from the workers' streams, which do not change by that.
    draws_in_evaluation: bool = False

    def chunk_on(self, device: torch.device) -> int:
        """The number of samples per forward pass of an evaluation on ``device``."""
        return (device.type == "cpu" and self.cpu_chunk) or self.chunk


def model(name: str, *, version: int = 1, **facts: Any) -> Callable[[Build], Build]:
    """Register the decorated function as a model. ``facts`` are those of ``Model``.

    ``version`` is raised when its results change.
    """

    def made(build: Build, _: object) -> Model:
        brought = build.__module__.partition(".")[0] != "ngo"
        return Model(build, **{"brought": brought, **facts})

    return registers(MODELS, name, made, version=version)


@model("mnist_cnn", input_shape=(1, 28, 28), task="classification", chunk=1000, cpu_chunk=64)
def mnist_cnn(generator: torch.Generator) -> nn.Module:
    """MNIST classifier, 21,840 parameters, output log-probabilities ``[b, 10]``.

    The table's second "dropout2d" acts on a flat vector, so it is plain dropout.
    """
    return nn.Sequential(
        layers.ConvPoolReLU2d(1, 10, 5),
        layers.Dropout(generator, channels=True),
        layers.ConvPoolReLU2d(10, 20, 5),
        nn.Flatten(),
        nn.Linear(320, 50),
        nn.ReLU(),
        layers.Dropout(generator),
        nn.Linear(50, 10),
        nn.LogSoftmax(1),
    )


@model("mnist_fc", input_shape=(1, 28, 28), task="classification")
def mnist_fc(generator: torch.Generator) -> nn.Module:
    """Fully connected MNIST classifier, 159,010 parameters, output logits ``[b, 10]``.

    The original appendix (Table A1) gives no sizes; 784 → 200 → 10 with ReLU is assumed.
    """
    return nn.Sequential(nn.Flatten(), *layers.fully_connected(784, 200, 10))


@model("cifar10_cnn", input_shape=(3, 32, 32), task="classification", chunk=1000, cpu_chunk=64)
def cifar10_cnn(generator: torch.Generator) -> nn.Module:
    """CIFAR-10 classifier, 62,006 parameters, output logits ``[b, 10]``.

    In the table, ReLU comes before pooling. The result is the same with pooling first, which leaves
    a quarter of the values for ReLU.
    """
    return _cifar_cnn(10)


@model("cifar100_cnn", input_shape=(3, 32, 32), task="classification", chunk=1000, cpu_chunk=64)
def cifar100_cnn(generator: torch.Generator) -> nn.Module:
    """CIFAR-100 classifier, 69,656 parameters, output logits ``[b, 100]``: ``cifar10_cnn`` with 100
    outputs.
    """
    return _cifar_cnn(100)


def _cifar_cnn(classes: int) -> nn.Module:
    return nn.Sequential(
        layers.ConvPoolReLU2d(3, 6, 5),
        layers.ConvPoolReLU2d(6, 16, 5),
        nn.Flatten(),
        *layers.fully_connected(400, 120, 84, classes),
    )


@model("resnet18", input_shape=(3, 64, 64), task="classification")
def resnet18(generator: torch.Generator) -> nn.Module:
    """Tiny ImageNet classifier, 11,279,112 parameters, output logits ``[b, 200]``.

    torchvision's ResNet-18, untrained, with 200 classes.
    """
    from torchvision.models import resnet18

    return resnet18(weights=None, num_classes=200)


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
    return layers.VAE(
        nn.Sequential(nn.Flatten(), *layers.fully_connected(784, 512, 256, 2 * codes)),
        nn.Sequential(*layers.fully_connected(codes, 256, 512, 784), nn.Unflatten(1, (1, 28, 28))),
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
    return layers.VAE(encoder, decoder, CIFAR_CODES, generator)


@model("toy_net", input_shape=(1,), task="regression")
def toy_net(generator: torch.Generator) -> nn.Module:
    """Model of the toy example (Figure S6), 4,353 parameters, output ``[b, 1]``.

    1 → 64 → 64 → 1. The paper draws a ReLU at the end, which cannot fit the negative half of a
    sine; here the last layer is linear.
    """
    return nn.Sequential(*layers.fully_connected(1, 64, 64, 1))


@model("linear", input_shape=(10,), task="regression")
def linear(generator: torch.Generator) -> nn.Module:
    """Linear model for least squares (Figure 1): 10 weights, no intercept, output ``[b, 1]``."""
    return nn.Linear(10, 1, bias=False)


RANK = 4  # assumed: that of GPT-2 in the experiments of Hu et al. (2022)


@model("gpt_char", input_shape=(LENGTH,), task="next_character")
def gpt_char(generator: torch.Generator) -> nn.Module:
    """Transformer of 2 layers, 64 wide, 102,664 parameters, output logits ``[b, t, 8]``."""
    return _gpt(width=64, heads=4)


@model("gpt_char_small", input_shape=(LENGTH,), task="next_character")
def gpt_char_small(generator: torch.Generator) -> nn.Module:
    """Transformer of 2 layers, 32 wide, 26,760 parameters, output logits ``[b, t, 8]``."""
    return _gpt(width=32, heads=2)


@model("gpt_char_lora", input_shape=(LENGTH,), task="next_character")
def gpt_char_lora(generator: torch.Generator) -> nn.Module:
    """``gpt_char_small`` with frozen random weights, and LoRA of rank 4: 4,256 parameters.

    The frozen weights are a run's initial ones, the same for all its workers.
    """
    return transformer.with_lora(_gpt(width=32, heads=2), RANK)


def _gpt(width: int, heads: int) -> nn.Module:
    return transformer.Transformer(CHARACTERS, LENGTH, width=width, layers=2, heads=heads)
