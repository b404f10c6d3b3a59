"""Means over seeds, and tests of where the centre of a sample is, or of a difference of two.

A sample has one number per seed, or a part and a whole, whose ratio of means is then the centre. A
test asks about any θ: it is one of the numbers part − θ · whole, with wholes of 1 for plain numbers
(Fieller 1954). The interval of a test has all θ that it does not reject.

- ``StudentT``: for few seeds, and for more than ``MANY``;
- ``SignFlips``: counts the choices of signs whose sum is at least the observed one. Under the null
  hypothesis each number could as well have had the other sign; it assumes symmetry and no
  distribution. Flipping the signs of a subset lowers the sum iff the subset's mean is above θ, so
  the interval's ends are order statistics of the means of subsets (Hartigan 1969);
- ``SignedRanks``: Wilcoxon's, where a number is infinite (a run diverged); of more than ``MANY``
  numbers, their sum is taken as normal.

Of two samples whose runs are not paired, θ shifts the first:

- ``Welch``: Welch's t test, which does not take both spreads to be equal;
- ``Permutation``: counts the choices of as many runs for the first side whose Welch's t is at least
  the observed one, ties included. It is exact where both sides have one distribution, and with
  many runs where only the means are equal (Janssen 1997). Where the sides differ in size, Welch's
  test must agree, which other spreads do not mislead; of more than 2 ``MANY`` runs, it decides
  alone. Where a value is infinite (a run diverged), both are of ranks.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any, Protocol

import numpy as np

from verdicts.lazy import special, stats

#: Intervals are of 1 − ALPHA.
ALPHA = 0.05

#: The fewest seeds with an interval. With two, it reaches 13 standard errors to either side.
FEWEST = 3

#: Printed where there is no number.
ABSENT = "–"

#: A standard deviation below this share of the values is rounding error.
ROUNDING = 1e-9

#: The tests that a claim can name.
WELCH, PERMUTATION = TESTS = ("welch", "permutation")

#: Of so many choices of runs all are counted, and of more, so many random ones.
SPLITS = 2**16

#: The most numbers that choices take in memory.
MOST_NUMBERS = 2**23
#: Of this many choices of signs all are counted, and of more, so many random ones.
DRAWS = 2**18

#: The most numbers of which signs are flipped, or ranks added up exactly.
MANY = 200

#: Of a larger side, so many order statistics stand for all in differences and means of pairs.
THINNED = 1000

#: Sums count as equal if they differ by this share of the sum of absolute values.
EQUAL_SUMS = 1e-12

#: An interval of a ratio that reaches so many times its first step is unbounded.
WIDEST = 1e6

Interval = tuple[float, float]


def exceeds(value: Any, limit: float) -> Any:
    """Whether a value, or each of an array, is above a limit by more than rounding.

    94 · 0.01 is not 0.94 in floats: numbers that are equal where they are written, or counted, may
    differ in the last digit.
    """
    return value > limit + ROUNDING * abs(limit)


@dataclass(frozen=True)
class Estimate:
    """The mean of a value over seeds, with its standard deviation and interval."""

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


class OneSample(Protocol):
    """A test of a sample."""

    def tail(self, theta: float, way: int) -> float:
        """The one-sided p value of: the centre is above θ (``way`` 1), or below it (−1)."""

    def interval(self, level: float) -> Interval:
        """All θ that are not rejected at the two-sided ``level``; an end may be infinite."""


def two_sided(test: OneSample, theta: float, side: int) -> float:
    """The two-sided p value of a centre other than θ, for a sample that is on a ``side`` of it."""
    return min(1.0, 2 * test.tail(theta, side))


def skewness(of: np.ndarray, *minus: np.ndarray) -> float:
    """That of a mean of three finite values or more, or of the difference of two such means."""
    third = square = 0.0
    for sign, values in zip((1, -1), (of, *minus), strict=False):
        off, count = values - values.mean(), len(values)
        third += sign * (off**3).sum() / count / (count - 1) / (count - 2)
        square += (off**2).sum() / count / (count - 1)
    return float(third / square**1.5)


class StudentT(OneSample):
    """Student's t test of three numbers or more that are finite and differ."""

    def __init__(self, part: np.ndarray, whole: np.ndarray) -> None:
        self.part, self.whole = part, whole

    def tail(self, theta: float, way: int) -> float:
        """See ``OneSample``."""
        off = self.part - theta * self.whole
        error = off.std(ddof=1) / np.sqrt(len(off))
        return float(special.stdtr(len(off) - 1, -way * off.mean() / error))

    def interval(self, level: float) -> Interval:
        """See ``OneSample``."""
        count, centre = len(self.part), float(self.part.mean() / self.whole.mean())
        error = (self.part - centre * self.whole).std(ddof=1) / np.sqrt(count)
        half = float(special.stdtrit(count - 1, 1 - level / 2) * error)
        if (self.whole == 1).all():
            return centre - half, centre + half
        return searched(self, centre, half / self.whole.mean(), level)


class SignFlips(OneSample):
    """The sign-flip test; ``draws`` as ``DRAWS``."""

    def __init__(self, part: np.ndarray, whole: np.ndarray, draws: int = DRAWS) -> None:
        self.part, self.whole = part, whole
        chosen = subsets(len(part), draws)
        both = np.concatenate([some @ np.stack([part, whole], 1) for some in chosen])
        self.parts, self.wholes = both.T

    def tail(self, theta: float, way: int) -> float:
        """See ``OneSample``."""
        equal = EQUAL_SUMS * np.abs(self.part - theta * self.whole).sum()
        flipped = way * (self.parts - theta * self.wholes) <= equal
        return float((1 + np.count_nonzero(flipped)) / (1 + len(flipped)))

    def interval(self, level: float) -> Interval:
        """See ``OneSample``."""
        if (self.wholes <= 0).any() or not (self.whole == 1).all():
            centre = float(self.part.mean() / self.whole.mean())
            step = np.abs(self.part - centre * self.whole).mean() / abs(self.whole.mean())
            return searched(self, centre, float(step), level) if step else (centre, centre)
        count = math.floor(level / 2 * (1 + len(self.parts)))
        if not count:
            return -math.inf, math.inf
        means = np.partition(self.parts / self.wholes, [count - 1, -count])
        return float(means[count - 1]), float(means[-count])


class SignedRanks(OneSample):
    """Wilcoxon's signed-rank test, exact with ties up to ``MANY`` numbers."""

    def __init__(self, part: np.ndarray, whole: np.ndarray) -> None:
        self.part, self.whole = part, whole

    def tail(self, theta: float, way: int) -> float:
        """See ``OneSample``."""
        off = self.part - (theta * self.whole if theta else 0.0)  # 0 · ∞ is no number
        twice = np.rint(2 * signed_ranks(off)).astype(int)  # ties have halves of ranks
        if len(twice) > MANY:
            size = np.sqrt(float(np.square(twice, dtype=float).sum()))
            return float(special.ndtr(-way * twice.sum() / size)) if size else 1.0
        chance = np.ones(1)  # of each sum of the ranks whose sign is the claimed one
        for rank in np.abs(twice):
            chance = (np.pad(chance, (0, rank)) + np.pad(chance, (rank, 0))) / 2
        return float(chance[np.maximum(way * twice, 0).sum() :].sum())

    def interval(self, level: float) -> Interval:
        """See ``OneSample``; all numbers, unless all wholes are above 0."""
        if not (self.whole > 0).all():
            return -math.inf, math.inf
        values = self.part / self.whole
        finite = thinned(values[np.isfinite(values)])
        steps = np.unique(np.add.outer(finite, finite) / 2)  # p changes at means of pairs alone
        return at_steps(self, steps, level)


def at_steps(test: OneSample, steps: np.ndarray, level: float) -> Interval:
    """The interval of a test whose p value changes at ``steps`` alone, which are sorted.

    With ties at a step, it may be rejected, and what lies between it and the next one not.
    """
    if not len(steps):
        return -math.inf, math.inf
    outside = steps[[0, -1]] + (1 + np.abs(steps[[0, -1]])) * [-1, 1]
    between = np.concatenate([outside[:1], (steps[:-1] + steps[1:]) / 2, outside[1:]])

    def first(way: int) -> float:
        """The first step, from the outside, that is not rejected, or behind which nothing is."""
        ordered, around = steps[::way], between[::way]

        def kept(k: int) -> bool:
            there = (float(ordered[k]), float(around[k + 1]))
            return any(test.tail(theta, way) > level / 2 for theta in there)

        if test.tail(float(around[0]), way) > level / 2:
            return -way * math.inf
        k = bisect_left(range(len(ordered)), True, key=kept)
        return float(ordered[k]) if k < len(ordered) else way * math.inf

    return first(1), first(-1)


def searched(test: OneSample, centre: float, step: float, level: float) -> Interval:
    """The interval by doubling steps from the centre, and halving what is between."""

    def end(way: int) -> float:
        inner, outer = 0.0, step
        while test.tail(centre + way * outer, -way) > level / 2:
            inner, outer = outer, 2 * outer
            if outer > WIDEST * step:
                return way * math.inf
        while outer - inner > 1e-4 * outer:
            middle = (inner + outer) / 2
            kept = test.tail(centre + way * middle, -way) > level / 2
            inner, outer = (middle, outer) if kept else (inner, middle)
        return centre + way * inner

    return end(-1), end(1)


def thinned(values: np.ndarray) -> np.ndarray:
    """At most ``THINNED`` order statistics, evenly spaced."""
    if len(values) <= THINNED:
        return values
    return np.sort(values)[np.linspace(0, len(values) - 1, THINNED).round().astype(int)]


@lru_cache(maxsize=4)
def subsets(count: int, draws: int) -> list[np.ndarray]:
    """Subsets of ``count`` numbers, each [subsets, ``count``], with 1 for the chosen ones.

    All but the empty one if that are fewer than ``draws``, else ``draws`` random ones of a fixed
    stream. In parts, so that few are in memory as floats.
    """
    stream, most = np.random.default_rng(0), 20_000
    if 2**count > draws:
        sizes = [min(most, draws - start) for start in range(0, draws, most)]
        return [stream.integers(0, 2, (size, count)).astype(np.int8) for size in sizes]
    chosen = np.arange(1, 2**count)[:, None] >> np.arange(count) & 1
    return np.array_split(chosen.astype(np.int8), 1 + len(chosen) // most)


def signed_ranks(values: np.ndarray) -> np.ndarray:
    """The ranks of the absolute values, with the signs of the values."""
    return np.sign(values) * ranks_of(np.abs(values))


def ranks_of(values: np.ndarray) -> np.ndarray:
    """The ranks of values; those that agree in ten digits are ties, and share their mean."""
    given = np.isfinite(values) & (values != 0)
    exponent = np.floor(np.log10(np.abs(values), where=given, out=np.zeros(len(values))))
    scale = 10.0 ** np.clip(9 - exponent, -300, 300)
    return stats.rankdata(np.where(given, np.rint(values * scale) / scale, values))


def median_interval(values: np.ndarray) -> tuple[float, float, float]:
    """The median of sorted values, and the order statistics that enclose it with 95 %."""
    count = len(values)
    with np.errstate(invalid="ignore"):  # −∞ and ∞ have no mean
        median = float(np.median(values))
    # The interval from the k-th smallest to the k-th largest misses with 2 P(Binomial < k).
    inner = np.count_nonzero(2 * special.bdtr(np.arange(count // 2), count, 0.5) <= ALPHA)
    ends = (values[inner - 1], values[-inner]) if inner else (-math.inf, math.inf)
    return median, float(ends[0]), float(ends[1])


class Welch(OneSample):
    """Welch's t test; sides without a spread have one of rounding."""

    def __init__(self, of: np.ndarray, minus: np.ndarray) -> None:
        least = (ROUNDING * float(np.abs([*of, *minus]).max())) ** 2 or 1.0
        errors = np.array([max(side.var(ddof=1), least) / len(side) for side in (of, minus)])
        self.centre, self.error = float(of.mean() - minus.mean()), float(np.sqrt(errors.sum()))
        self.freedom = errors.sum() ** 2 / (errors**2 / [len(of) - 1, len(minus) - 1]).sum()

    def tail(self, theta: float, way: int) -> float:
        """See ``OneSample``."""
        return float(special.stdtr(self.freedom, way * (theta - self.centre) / self.error))

    def interval(self, level: float) -> Interval:
        """See ``OneSample``."""
        half = float(special.stdtrit(self.freedom, 1 - level / 2)) * self.error
        return self.centre - half, self.centre + half


class Permutation(OneSample):
    """The permutation test, of ranks if there are infinite values; ``splits`` as ``SPLITS``."""

    def __init__(self, of: np.ndarray, minus: np.ndarray, splits: int = SPLITS) -> None:
        self.of, self.minus, self.splits = of, minus, splits
        self.ranks = bool(np.isinf([*of, *minus]).any())

    def tail(self, theta: float, way: int) -> float:
        """See ``OneSample``."""
        values = np.concatenate([self.of - theta, self.minus])
        if self.ranks:
            values = ranks_of(values)
        n, p = len(self.of), 0.0
        if few := len(values) <= 2 * MANY:
            t = way * self._t(values)
            p = float(np.mean(t >= t[0] - ROUNDING * max(1.0, abs(t[0]))))
        alike = few and n == len(self.minus)
        return p if alike else max(p, Welch(values[:n], values[n:]).tail(0.0, way))

    def _t(self, values: np.ndarray) -> np.ndarray:
        """Welch's t of each choice, the observed one first; a large number without a spread."""
        size = float(np.abs(values).max())
        values = values - values.mean()
        total, squares = values.sum(), values @ values
        n, m = len(self.of), len(self.minus)
        sums, own = (choices(n, m, self.splits) @ of for of in (values, values**2))
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
        stream, number = np.random.default_rng(0), min(most, MOST_NUMBERS // size)
        orders = stream.permuted(np.tile(np.arange(size), (number, 1)), axis=1)
        places = np.concatenate([np.arange(count)[None], orders[:, :count]])
    chosen = np.zeros((len(places), size))
    np.put_along_axis(chosen, places, 1.0, axis=1)
    return chosen


def differences(of: np.ndarray, minus: np.ndarray) -> np.ndarray:
    """The differences of all pairs of runs; those of two infinite runs are none."""
    with np.errstate(invalid="ignore"):
        pairs = np.subtract.outer(thinned(of), thinned(minus)).ravel()
    return pairs[~np.isnan(pairs)]


#: Halvings of an interval that leave nothing but rounding.
HALVINGS = 60


def student_p(t: np.ndarray, errors: np.ndarray, freedoms: np.ndarray) -> np.ndarray:
    """The two-sided p value of a difference that is ``t`` of its standard errors from zero.

    The difference is the sum of independent parts, [parts, …]: ``errors`` are their standard
    errors, each estimated with its degrees of freedom. p is the mean of those by Student's t with
    the freedoms of each part, weighted by the squares of the errors (after Cochran and Cox 1950,
    who weigh quantiles so). Of means of 3 to 100 runs, at most 5 % are called different that are
    not, whatever their spreads; with Welch's degrees of freedom it is up to 7 %, and of tables of
    12 means up to 21 % are refused.
    """
    weights = np.square(errors)
    return 2 * (weights * special.stdtr(freedoms, -np.abs(t))).sum(axis=0) / weights.sum(axis=0)


def student_quantile(level: float, errors: np.ndarray, freedoms: np.ndarray) -> np.ndarray:
    """The ``t`` at which ``student_p`` is the ``level``, by bisection."""
    each = special.stdtrit(freedoms, 1 - level / 2) + 0.0 * errors
    low, high = each.min(axis=0), each.max(axis=0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        inside = student_p(middle, errors, freedoms) > level
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return high
