"""Means over seeds and how sure they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95

# A spread below this share of the mean is rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, its sample standard deviation, and its interval's half-width.

    With one seed, ``std`` and ``half_width`` are NaN: nothing is known of the spread.
    """

    mean: float
    std: float
    half_width: float
    count: int

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies on one side of 0; False where there is none.

        Values that are all the same leave none: what a few seeds agree on by chance (accuracies are
        discrete) tells nothing of the spread of others.
        """
        least = ROUNDING * abs(self.mean)
        return least < self.half_width < abs(self.mean)


def estimate(values: np.ndarray) -> Estimate:
    """Mean of ``values`` with Student's t interval at :data:`CONFIDENCE`.

    A value that is not finite (a run that diverged) makes the mean NaN: it is not left out.
    """
    from scipy.stats import t

    values = np.asarray(values, dtype=float)
    count = len(values)
    if count < 2:
        return Estimate(float(values.mean()), np.nan, np.nan, count)
    std = float(values.std(ddof=1))
    half_width = float(t.ppf((1 + CONFIDENCE) / 2, count - 1)) * std / np.sqrt(count)
    return Estimate(float(values.mean()), std, float(half_width), count)
