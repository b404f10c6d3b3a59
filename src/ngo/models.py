"""The paper's networks, as in the supplement's tables.

A model is a function of a generator (for dropout) that builds a module; it is registered with the
shape of its input and the task it serves. (torch is imported where it is used, so that the names
can be checked without its start-up cost.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ngo.registry import Decorator, Registry

if TYPE_CHECKING:
    import torch
    from torch import nn


@dataclass(frozen=True)
class Model:
    """``build(generator)`` makes a module; its input is ``[b, *input_shape]``."""

    build: Callable[[torch.Generator], nn.Module]
    input_shape: tuple[int, ...]
    task: str


MODELS: Registry[Model] = Registry("model")


def model(name: str, *, input_shape: tuple[int, ...], task: str) -> Decorator:
    """Register a model under the name that configs and the command line use."""

    def register(
        build: Callable[[torch.Generator], nn.Module],
    ) -> Callable[[torch.Generator], nn.Module]:
        MODELS.add(name, Model(build, input_shape, task))
        return build

    return register


@model("mnist_cnn", input_shape=(1, 28, 28), task="classification")
def mnist_cnn(generator: torch.Generator) -> nn.Module:
    """MNIST classifier, 21,840 parameters, output log-probabilities ``[b, 10]``.

    The table's second "dropout2d" acts on a flat vector: plain dropout.
    """
    from torch import nn

    from ngo.layers import Dropout

    return nn.Sequential(
        nn.Conv2d(1, 10, 5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        Dropout(generator, channels=True),
        nn.Conv2d(10, 20, 5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(320, 50),
        nn.ReLU(),
        Dropout(generator),
        nn.Linear(50, 10),
        nn.LogSoftmax(1),
    )
