"""Tasks: a model's batches, and the loss and the score of its outputs.

A task is a loss function, registered with ``@task`` in ``ngo.models.tasks`` or in a plugin. It
imports torch inside the function, so that its name can be checked without torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ngo.common.lazy import Tensor
from ngo.common.registry import Registry
from ngo.data.dataset import Dataset

Batch: TypeAlias = "tuple[Tensor, Tensor]"
MakeBatch: TypeAlias = "Callable[[Dataset, Tensor, Tensor], Batch]"
PerSample: TypeAlias = "Callable[[Any, Tensor], Tensor]"


@dataclass(frozen=True)
class Task:
    """What a model is trained for."""

    # (data, inputs, targets) → the model's inputs, and the targets of loss and score.
    batch: MakeBatch

    # (outputs, targets) → the loss of each sample [b].
    loss: PerSample

    # (outputs, targets) → whether each sample [b] is correct. The mean is the accuracy. None if the
    # task has no accuracy.
    score: PerSample | None = None

    # Whether the task needs images or labels; otherwise it needs targets that are real numbers.
    labelled: bool = True


TASKS: Registry[Task] = Registry("task")


def task(
    name: str,
    *,
    batch: MakeBatch | None = None,
    score: PerSample | None = None,
    labelled: bool = True,
    version: int = 1,
) -> Callable[[PerSample], PerSample]:
    """Register the decorated function as the loss of a task. The arguments are those of ``Task``.

    ``batch`` is ``normalised_batch`` by default. ``version`` is raised when its results change.
    """

    def register(loss: PerSample) -> PerSample:
        entry = Task(batch or normalised_batch, loss, score, labelled)
        TASKS.add(name, entry, definition=loss, version=version)
        return loss

    return register


def normalised_batch(data: Dataset, inputs: Tensor, targets: Tensor) -> Batch:
    """Normalised images, or unchanged float inputs, and their targets."""
    return data.normalised(inputs), targets
