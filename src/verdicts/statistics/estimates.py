"""Means over seeds with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95

SEEDS_FOR_AN_INTERVAL = 3
"""With two seeds, the interval reaches 13 standard errors to either side."""

ROUNDING = 1e-9
"""A spread below this share of the mean is rounding error."""


@dataclass(frozen=True)
class Estimate:
    """The mean of a value over seeds, and its spread."""

    mean: float
    std: float
    """Sample standard deviation; NaN for one seed."""
    half_width: float
    """Half the width of the confidence interval; NaN below ``SEEDS_FOR_AN_INTERVAL`` seeds."""
    count: int
    """Number of seeds."""

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval excludes 0; False if there is no interval.

        Equal values give no interval: a few seeds may agree by chance, since accuracies are
        discrete, and then say nothing about the spread over other seeds.
        """
        least = ROUNDING * abs(self.mean)
        return least < self.half_width < abs(self.mean)


def estimate(values: np.ndarray) -> Estimate:
    """Mean of ``values`` with Student's t interval at ``CONFIDENCE``.

    A value that is not finite (from a diverged run) is not dropped: it makes the mean NaN.
    """
    from scipy.stats import t

    values = np.asarray(values, dtype=float)
    count = len(values)
    if count < 2:
        return Estimate(float(values.mean()), np.nan, np.nan, count)
    std = float(values.std(ddof=1))
    if count < SEEDS_FOR_AN_INTERVAL:
        return Estimate(float(values.mean()), std, np.nan, count)
    half_width = float(t.ppf((1 + CONFIDENCE) / 2, count - 1)) * std / np.sqrt(count)
    return Estimate(float(values.mean()), std, float(half_width), count)
