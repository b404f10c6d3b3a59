"""Means over seeds with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from verdicts.lazy import special

#: Intervals are of 1 − ALPHA.
ALPHA = 0.05

#: The fewest seeds with an interval. With two, it reaches 13 standard errors to either side.
FEWEST = 3

#: A spread below this share of the values is rounding error.
ROUNDING = 1e-9


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
    #: Sample standard deviation; NaN for one seed.
    std: float
    #: Half the width of the confidence interval; NaN below ``FEWEST`` seeds.
    half_width: float
    #: Number of seeds.
    count: int


def estimate(values: np.ndarray) -> Estimate:
    """Mean of ``values`` with Student's t interval.

    A value that is not finite (from a diverged run) is not dropped: it makes the mean NaN.
    """
    values = np.asarray(values, dtype=float)
    count = len(values)
    std = float(values.std(ddof=1)) if count > 1 else np.nan
    half_width = float(special.stdtrit(count - 1, 1 - ALPHA / 2) * std / np.sqrt(count))
    return Estimate(float(values.mean()), std, half_width if count >= FEWEST else np.nan, count)
