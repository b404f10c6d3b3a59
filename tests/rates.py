"""Draws against the rate that they should have: with draws enough to see an error of 1 to 3 %."""

import math

import numpy as np

WITHIN = 4.5
"""Standard errors between what was drawn and what should be, at most."""


def check_rate(count, draws, rate, *, sees=0.01):
    """Assert that ``count`` of ``draws`` independent draws fit the rate, and would not fit one that
    is off by the share ``sees``: that is six standard errors or more.
    """
    deviation = math.sqrt(draws * rate * (1 - rate))
    assert 6 * deviation <= sees * rate * draws, "more draws are needed"
    assert abs(count - rate * draws) <= WITHIN * deviation


def check_mean(values, expected, *, sees=0.01):
    """The same for the mean of independent values."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / math.sqrt(len(values))
    assert 6 * error <= sees * abs(expected), "more draws are needed"
    assert abs(values.mean() - expected) <= WITHIN * error


def check_uniform(counts):
    """Assert that counts of equally likely cases fit: χ² within 4.5 standard deviations."""
    counts = np.asarray(counts, dtype=float)
    expected, free = counts.mean(), counts.size - 1
    assert expected >= 100, "more draws are needed"
    distance = float(((counts - expected) ** 2 / expected).sum())
    assert distance <= free + WITHIN * math.sqrt(2 * free)
