"""Models: functions that build a module, with the shape of its input and its task.

A model is registered with ``@model`` in ``ngo.models.architectures`` or in a plugin. Its layers are
imported inside the function, so that its name can be checked without torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ngo.common.lazy import nn, torch
from ngo.common.registry import Registry

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

    def chunk_on(self, device: torch.device) -> int:
        """The number of samples per forward pass of an evaluation on ``device``."""
        return (device.type == "cpu" and self.cpu_chunk) or self.chunk


MODELS: Registry[Model] = Registry("model")


def model(
    name: str,
    *,
    input_shape: tuple[int, ...],
    task: str,
    chunk: int = 250,
    cpu_chunk: int | None = None,
    smallest_batch: int = 1,
    version: int = 1,
) -> Callable[[Build], Build]:
    """Register the decorated function as a model. The arguments are those of ``Model``.

    ``version`` is raised when its results change.
    """

    def register(build: Build) -> Build:
        entry = Model(build, input_shape, task, chunk, cpu_chunk, smallest_batch)
        MODELS.add(name, entry, definition=build, version=version)
        return build

    return register
