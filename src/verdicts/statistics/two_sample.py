"""The difference of the means of two samples whose runs are not paired: tests and evidence.

- ``Welch``: Welch's t test, which does not take both spreads to be equal;
- ``Permutation``: counts the choices of as many runs for the first side whose Welch's t is at least
  the observed one, ties included. It is exact where both sides have one distribution, and with
  many runs where only the means are equal (Janssen 1997). Where a value is infinite (a run
  diverged), it is of ranks.

The interval has all shifts of the first side that the test does not reject.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np

from verdicts.lazy import stats
from verdicts.statistics.estimates import ALPHA, FEWEST, ROUNDING
from verdicts.statistics.evidence import Evidence, Expectation, of_printed, tested
from verdicts.statistics.one_sample import Interval, OneSample, at_steps, searched, two_sided

#: The tests that a claim can name.
WELCH, PERMUTATION = TESTS = ("welch", "permutation")

#: Of so many choices of runs all are counted, and of more, so many random ones.
SPLITS = 2**16

#: The most numbers that choices take in memory.
MOST_NUMBERS = 2**23


class Welch:
    """Welch's t test of samples that do not both lack a spread."""

    def __init__(self, of: np.ndarray, minus: np.ndarray) -> None:
        errors = np.array([side.var(ddof=1) / len(side) for side in (of, minus)])
        freedom = errors.sum() ** 2 / (errors**2 / [len(of) - 1, len(minus) - 1]).sum()
        self.centre = stats.t(freedom, of.mean() - minus.mean(), np.sqrt(errors.sum()))

    def tail(self, theta: float, way: int) -> float:
        """See ``OneSample``."""
        return float(self.centre.cdf(theta) if way == 1 else self.centre.sf(theta))

    def interval(self, level: float) -> Interval:
        """See ``OneSample``."""
        low, high = self.centre.interval(1 - level)
        return float(low), float(high)


class Permutation:
    """The permutation test, of ``ranks`` if there are infinite values; ``splits`` as ``SPLITS``."""

    def __init__(
        self, of: np.ndarray, minus: np.ndarray, ranks: bool = False, splits: int = SPLITS
    ) -> None:
        self.of, self.minus, self.ranks = of, minus, ranks
        self.chosen = choices(len(of), len(minus), splits)

    def tail(self, theta: float, way: int) -> float:
        """See ``OneSample``."""
        values = np.concatenate([self.of - theta, self.minus])
        if self.ranks:
            values = stats.rankdata([float(f"{value:.9e}") for value in values])
        t = way * self._t(values)
        return float(np.mean(t >= t[0] - ROUNDING * max(1.0, abs(t[0]))))

    def _t(self, values: np.ndarray) -> np.ndarray:
        """Welch's t of each choice, the observed one first; a large number without a spread."""
        size = float(np.abs(values).max())
        values = values - values.mean()
        total, squares = values.sum(), values @ values
        sums, own = self.chosen @ values, self.chosen @ values**2
        n, m = len(self.of), len(self.minus)
        variances = (own - sums**2 / n) / (n - 1) / n
        variances += (squares - own - (total - sums) ** 2 / m) / (m - 1) / m
        difference = sums / n - (total - sums) / m
        difference[np.abs(difference) <= ROUNDING * size] = 0.0
        return difference / np.sqrt(np.maximum(variances, (ROUNDING * size) ** 2 or 1.0))

    def interval(self, level: float) -> Interval:
        """See ``OneSample``."""
        if self.ranks:  # p changes at differences of pairs alone
            pairs = differences(self.of, self.minus)
            return at_steps(self, np.unique(pairs[np.isfinite(pairs)]), level)
        centre = float(self.of.mean() - self.minus.mean())
        step = float(np.hypot(self.of.std(), self.minus.std()))
        least = 2 * ROUNDING * float(np.abs([*self.of, *self.minus]).max())
        return searched(self, centre, max(step, least), level)


@lru_cache(maxsize=2)
def choices(count: int, others: int, most: int) -> np.ndarray:
    """Choices of ``count`` of all runs, [choices, runs], 1 for the chosen; the first ones first.

    All if they are at most ``most``, else that many random ones of a fixed stream.
    """
    size = count + others
    if comb(size, count) <= most:
        places = np.array(list(combinations(range(size), count)))
    else:
        stream = np.random.default_rng(0)
        number = min(most, MOST_NUMBERS // size)
        orders = stream.permuted(np.tile(np.arange(size), (number, 1)), axis=1)
        places = np.concatenate([np.arange(count)[None], orders[:, :count]])
    chosen = np.zeros((len(places), size))
    np.put_along_axis(chosen, places, 1.0, axis=1)
    return chosen


def differences(of: np.ndarray, minus: np.ndarray) -> np.ndarray:
    """The differences of all pairs of runs; those of two infinite runs are none."""
    with np.errstate(invalid="ignore"):
        pairs = np.subtract.outer(of, minus).ravel()
    return pairs[~np.isnan(pairs)]


def unpaired_evidence(
    of: np.ndarray,
    minus: np.ndarray,
    expectation: Expectation,
    test: str = WELCH,
    splits: int = SPLITS,
) -> Evidence:
    """The evidence in the runs of two sides, with a note on the test; NaN is a run without a value.

    ``pairs`` is the number of runs of the smaller side, and ``spread`` that of the difference of
    one run of each. Permutations decide where the claim asks for them, where a value is infinite
    (by ranks; the estimate is the median of all pairs), and where all runs of each side are equal.
    """
    given = len(of) + len(minus)
    of, minus = (np.asarray(side, float)[~np.isnan(side)] for side in (of, minus))
    counts, infinite = (len(of), len(minus)), int(np.isinf([*of, *minus]).sum())
    pairs, spread = differences(of, minus), np.nan
    estimate = float(np.median(pairs) if infinite else pairs.mean()) if len(pairs) else np.nan
    if min(counts) > 1 and not infinite:
        spread = float(np.hypot(of.std(ddof=1), minus.std(ddof=1)))
        spread *= spread > ROUNDING * float(np.abs([*of, *minus]).max())
    permuted = test == PERMUTATION or bool(infinite) or spread == 0
    told = f"{counts[0]} runs against {counts[1]}"
    note = f"unpaired: {told}, " + ("permutation test" if permuted else "Welch's test")
    note += f" of ranks; the number is infinite in {infinite} runs" if infinite else ""
    note += f"; {given - sum(counts)} runs have no number" if given > sum(counts) else ""
    found = Evidence(expectation, min(counts), infinite, estimate, spread, "", left_out=note)
    if min(counts) < FEWEST:
        return replace(found, obstacle=f"too few runs: {told}; a verdict takes {FEWEST}")
    if expectation.relation == "paper":
        told = f"the number is infinite in {infinite} runs"
        return replace(found, obstacle=told) if infinite else of_printed(found)
    if permuted and 2 / comb(sum(counts), counts[0]) > ALPHA:
        found = replace(found, obstacle=f"too few runs for a permutation test: {told}")
    ranks = bool(infinite)
    one: OneSample = Permutation(of, minus, ranks, splits) if permuted else Welch(of, minus)
    side = 1 if one.tail(expectation.value, 1) <= one.tail(expectation.value, -1) else -1
    found = tested(found, one, side)
    return found if permuted else replace(found, p_t=two_sided(one, expectation.value, side))
