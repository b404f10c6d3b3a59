"""What a model is trained for: its loss and its score.

(torch is imported where it is used, so that the names can be checked without its start-up cost.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ngo.registry import Registry

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Task:
    """``loss(outputs, targets)`` by sample ``[b]``; ``score``, the share of which is the accuracy,
    by sample ``[b]`` too.
    """

    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    score: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


TASKS: Registry[Task] = Registry("task")


def cross_entropy(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Cross entropy by sample, of logits or of log-probabilities (which are logits) ``[b, k]``."""
    from torch.nn.functional import cross_entropy

    return cross_entropy(outputs, targets, reduction="none")


def correct(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Whether the largest output is the target's, by sample ``[b]``."""
    return outputs.argmax(1) == targets


TASKS.add("classification", Task(cross_entropy, correct))
