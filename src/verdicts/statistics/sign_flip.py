"""The exact sign-flip test: is the centre of symmetric values above zero?

Under the null hypothesis each value could as well have had the other sign. The test counts the
choices of signs whose sum is at least the observed one. It assumes no distribution but symmetry.
"""

from __future__ import annotations

import numpy as np

EXACT = 40
"""The most values for which all choices of signs are counted."""

DRAWS = 200_000
"""The number of random choices of signs beyond that."""

ROUNDING = 1e-12
"""Sums count as equal if they differ by this share of the sum of absolute values."""


def upper_tail(values: np.ndarray) -> float:
    """The one-sided p value of a positive centre: the share of sign choices with this sum or more.

    Up to ``EXACT`` values, all 2^n choices are counted: the sums of both halves of the values are
    listed, and for each sum of one half, a binary search counts the sums of the other half that
    are large enough. For more values, ``DRAWS`` random choices of a fixed stream and the observed
    one are counted.
    """
    values = np.asarray(values, dtype=float)
    least = values.sum() - ROUNDING * np.abs(values).sum()
    if len(values) > EXACT:
        stream = np.random.default_rng(0)
        sums = _random_sums(values, stream)
        return float((1 + np.count_nonzero(sums >= least)) / (1 + DRAWS))
    half = len(values) // 2
    one, other = (np.sort(_all_sums(part)) for part in (values[:half], values[half:]))
    enough = len(other) - np.searchsorted(other, least - one, side="left")
    return float(enough.sum() / 2.0 ** len(values))


def _all_sums(values: np.ndarray) -> np.ndarray:
    """The sums of all 2^n choices of signs."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def _random_sums(values: np.ndarray, stream: np.random.Generator) -> np.ndarray:
    """The sums of ``DRAWS`` random choices of signs."""
    sums = np.empty(DRAWS)
    for part in np.array_split(sums, 20):  # a twentieth of the signs in memory at a time
        signs = stream.integers(0, 2, (len(part), len(values)), dtype=np.int8)
        part[:] = (2.0 * signs - 1) @ values
    return sums
