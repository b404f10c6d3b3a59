"""Holm's correction of p values for the number of tests in a family."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def adjusted(p: Sequence[float]) -> list[float]:
    """The p values adjusted by Holm's method, in the order given; NaN is no test.

    Tests whose adjusted p is at most α have a family-wise error rate of at most α, whatever their
    dependence.
    """
    values = np.asarray(p, dtype=float)
    result = np.full(len(values), np.nan)
    order = np.argsort(values)[: np.count_nonzero(~np.isnan(values))]
    factors = np.arange(len(order), 0, -1)
    result[order] = np.minimum(1, np.maximum.accumulate(factors * values[order]))
    return result.tolist()
