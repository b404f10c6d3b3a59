"""Classification: cross entropy and accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.models.task import normalised_batch, task

if TYPE_CHECKING:
    import torch


def correct(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Whether the largest output is that of the target class, ``[b]``."""
    return outputs.argmax(1) == targets


@task("classification", batch=normalised_batch, score=correct)
def cross_entropy(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Cross entropy ``[b]`` of logits, or of log-probabilities (which are logits), ``[b, k]``."""
    from torch.nn.functional import cross_entropy

    return cross_entropy(outputs, targets, reduction="none")
