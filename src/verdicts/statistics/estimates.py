"""Means over seeds with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

ALPHA = 0.05
"""Intervals are of 1 − ALPHA."""

FEWEST = 3
"""The fewest seeds with an interval. With two, it reaches 13 standard errors to either side."""

ROUNDING = 1e-9
"""A spread below this share of the values is rounding error."""


def exceeds(value: Any, limit: float) -> Any:
    """Whether a value, or each of an array, is above a limit by more than rounding.

    94 · 0.01 is not 0.94 in floats: numbers that are equal where they are written, or counted, may
    differ in the last digit.
    """
    return value > limit + ROUNDING * abs(limit)


@dataclass(frozen=True)
class Estimate:
    """The mean of a value over seeds, and its spread."""

    mean: float
    std: float
    """Sample standard deviation; NaN for one seed."""
    half_width: float
    """Half the width of the confidence interval; NaN below ``FEWEST`` seeds."""
    count: int
    """Number of seeds."""


def estimate(values: np.ndarray) -> Estimate:
    """Mean of ``values`` with Student's t interval.

    A value that is not finite (from a diverged run) is not dropped: it makes the mean NaN.
    """
    from scipy.special import stdtrit

    values = np.asarray(values, dtype=float)
    count = len(values)
    std = float(values.std(ddof=1)) if count > 1 else np.nan
    half_width = np.nan
    if count >= FEWEST:
        half_width = float(stdtrit(count - 1, 1 - ALPHA / 2) * std / np.sqrt(count))
    return Estimate(float(values.mean()), std, half_width, count)
