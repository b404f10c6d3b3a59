"""Regression: squared error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.models.task import normalised_batch, task

if TYPE_CHECKING:
    import torch


@task("regression", batch=normalised_batch, labelled=False)
def squared_error(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Squared error ``[b]`` of ``[b, …]``: the mean over all numbers of a sample."""
    return (outputs - targets).square().reshape(len(targets), -1).mean(1)
