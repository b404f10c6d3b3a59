"""Mean and spread of a state whose rows are held by several processes."""

from __future__ import annotations

from collections.abc import Iterable

import torch


def moments(X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean row ``[d]`` of a state and its spread Σ‖xᵢ − x̄‖², in float64."""
    X = X.double()
    mean = X.mean(0)
    return mean, (X - mean).square().sum()


def joint_moments(
    parts: Iterable[tuple[int, torch.Tensor, torch.Tensor]],
) -> tuple[torch.Tensor, torch.Tensor]:
    """The moments of a state from those of its parts: (number of rows, mean, spread) of each."""
    (n, mean, V), *rest = parts
    for k, other, spread in rest:
        difference = other - mean
        mean = mean + difference * (k / (n + k))
        V = V + spread + difference.square().sum() * (n * k / (n + k))
        n += k
    return mean, V
