"""Tasks: a model's batches, and the loss and the score of its outputs.

A task is a loss function, registered with ``@task``: classification, regression, autoencoders, and
the next character of a text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ngo.common.fields import registers
from ngo.common.lazy import Tensor, nn, torch
from ngo.common.registries import TASKS
from ngo.data.dataset import Dataset

Batch: TypeAlias = "tuple[Tensor, Tensor]"
MakeBatch: TypeAlias = "Callable[[Dataset, Tensor, Tensor], Batch]"
PerSample: TypeAlias = "Callable[[Any, Tensor], Tensor]"


def normalised_batch(data: Dataset, inputs: Tensor, targets: Tensor) -> Batch:
    """Normalised images, or unchanged float inputs, and their targets."""
    return data.normalised(inputs), targets


@dataclass(frozen=True)
class Task:
    """What a model is trained for."""

    # (outputs, targets) → the loss of each sample [b].
    loss: PerSample

    # (data, inputs, targets) → the model's inputs, and the targets of loss and score.
    batch: MakeBatch = normalised_batch

    # (outputs, targets) → whether each sample [b] is correct, whose mean is the accuracy; or one
    # number for all of them. None if the task has no accuracy.
    score: PerSample | None = None

    # Whether the task needs images or labels; otherwise it needs targets that are real numbers.
    labelled: bool = True

    # Whether an evaluation calls loss and score once, on all its outputs, and not on chunks of
    # them. It is found when a run with a user's functions starts (``training.learning_problem``).
    at_once: bool = False

    # Further scores by name, for columns of their own.
    scores: Mapping[str, PerSample] = field(default_factory=dict)


def task(name: str, *, version: int = 1, **facts: Any) -> Callable[[PerSample], PerSample]:
    """Register the decorated function as the loss of a task. ``facts`` are those of ``Task``.

    ``version`` is raised when its results change.
    """
    return registers(TASKS, name, lambda loss, _: Task(loss, **facts), version=version)


def over_tensors(call: Callable[..., Any], *outputs: Any) -> Any:
    """``call`` on the tensors at each place of a model's outputs: tensors, tuples, lists, dicts.

    Of outputs of other types, the first are returned.
    """
    first = outputs[0]
    if isinstance(first, torch.Tensor):
        return call(*outputs)
    if type(first) in (tuple, list):
        return type(first)(over_tensors(call, *each) for each in zip(*outputs, strict=True))
    if type(first) is dict:
        return {name: over_tensors(call, *(each[name] for each in outputs)) for name in first}
    return first


def correct(outputs: Tensor, targets: Tensor) -> Tensor:
    """Whether the largest output is that of the target class, ``[b]``."""
    return outputs.argmax(1) == targets


@task("classification", score=correct)
def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """Cross entropy ``[b]`` of logits, or of log-probabilities (which are logits), ``[b, k]``."""
    return nn.functional.cross_entropy(outputs, targets, reduction="none")


@task("regression", labelled=False)
def squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Squared error ``[b]`` of ``[b, …]``: the mean over all numbers of a sample."""
    return (outputs - targets).square().reshape(len(targets), -1).mean(1)


def image_batch(data: Dataset, inputs: Tensor, targets: Tensor) -> Batch:
    """Pixels in [0, 1], and the uint8 images as targets."""
    return inputs / 255, inputs


@task("vae", batch=image_batch)
def negative_elbo(outputs: tuple[Tensor, Tensor, Tensor], images: Tensor) -> Tensor:
    """−log p(x | z) + KL(q(z | x) ‖ N(0, I)) ``[b]``, in nats, for uint8 images ``[b, c, h, w]``.

    ``outputs`` are the logits of x at one draw of z, and the mean and log-variance of q
    ``[b, latent]``. With logits ``[b, c, h, w]`` the likelihood of a grey level, as a share of 1,
    is Bernoulli; with logits ``[b, 256, c, h, w]`` it is categorical.
    """
    logits, mean, log_variance = outputs
    if logits.dim() == images.dim():
        distortion = nn.functional.binary_cross_entropy_with_logits(
            logits, images / 255, reduction="none"
        )
    else:
        distortion = nn.functional.cross_entropy(logits, images.long(), reduction="none")
    divergence = (mean.square() + log_variance.exp() - 1 - log_variance) / 2
    return distortion.flatten(1).sum(1) + divergence.sum(1)


def text_batch(data: Dataset, inputs: Tensor, targets: Tensor) -> Batch:
    """The characters as whole numbers, for the model and as targets of the loss."""
    characters = inputs.long()
    return characters, characters


def correct_share(outputs: Tensor, characters: Tensor) -> Tensor:
    """The share of a sample's characters, from the second on, with the largest output ``[b]``."""
    return (outputs[:, :-1].argmax(-1) == characters[:, 1:]).double().mean(1)


@task("next_character", batch=text_batch, score=correct_share)
def next_character(outputs: Tensor, characters: Tensor) -> Tensor:
    """Cross entropy ``[b]`` in nats a character: the mean over characters from the second on.

    ``outputs`` ``[b, t, k]`` at a position are logits of the character after it, ``characters``
    ``[b, t]`` are whole numbers. The output at the last position is not used.
    """
    following = characters[:, 1:]
    losses = nn.functional.cross_entropy(
        outputs[:, :-1].flatten(0, 1), following.flatten(), reduction="none"
    )
    return losses.view_as(following).mean(1)
