"""What a model is trained for: what it sees of a sample, its loss and its score.

(torch is imported where it is used, so that the names can be checked without its start-up cost.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ngo.registry import Registry

if TYPE_CHECKING:
    import torch

    from ngo.datasets import Dataset

    Batch = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Task:
    """``batch(data, inputs, targets)`` makes of samples what a model takes and what its output is
    held against. ``loss(outputs, targets)`` is by sample ``[b]``; so is ``score``, the share of
    which is the accuracy, and which is None where there is none.

    ``labelled`` tasks need a data set with classes or images, the others one of real numbers.
    """

    batch: Callable[[Dataset, torch.Tensor, torch.Tensor], Batch]
    loss: Callable[[Any, torch.Tensor], torch.Tensor]
    score: Callable[[Any, torch.Tensor], torch.Tensor] | None = None
    labelled: bool = True


TASKS: Registry[Task] = Registry("task")


def cross_entropy(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Cross entropy by sample, of logits or of log-probabilities (which are logits) ``[b, k]``."""
    from torch.nn.functional import cross_entropy

    return cross_entropy(outputs, targets, reduction="none")


def correct(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Whether the largest output is the target's, by sample ``[b]``."""
    return outputs.argmax(1) == targets


def squared_error(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Squared error by sample, of ``[b, k]``: the mean over k."""
    return (outputs - targets).square().mean(1)


def negative_elbo(
    outputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor], images: torch.Tensor
) -> torch.Tensor:
    """The negative evidence lower bound by sample, in nats: −log p(x | z) + KL(q(z | x) ‖ N(0, I)).

    ``outputs`` are the logits of x at one draw of z, and the mean and log-variance of q
    ``[b, latent]``; ``images`` are uint8 ``[b, c, h, w]``. One logit a value ``[b, c, h, w]`` is a
    Bernoulli likelihood of grey levels as shares of 1; ``[b, 256, c, h, w]`` a categorical one.
    """
    from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

    logits, mean, log_variance = outputs
    if logits.dim() == images.dim():
        distortion = binary_cross_entropy_with_logits(logits, images / 255, reduction="none")
    else:
        distortion = cross_entropy(logits, images.long(), reduction="none")
    divergence = (mean.square() + log_variance.exp() - 1 - log_variance) / 2
    return distortion.flatten(1).sum(1) + divergence.sum(1)


def _labelled(data: Dataset, inputs: torch.Tensor, targets: torch.Tensor) -> Batch:
    return data.normalised(inputs), targets


def _real(data: Dataset, inputs: torch.Tensor, targets: torch.Tensor) -> Batch:
    return inputs, targets


def _images(data: Dataset, inputs: torch.Tensor, targets: torch.Tensor) -> Batch:
    return inputs / 255, inputs


TASKS.add("classification", Task(_labelled, cross_entropy, correct))
TASKS.add("regression", Task(_real, squared_error, labelled=False))
TASKS.add("vae", Task(_images, negative_elbo))
