"""What one number per seed says about an expectation: an estimate, an interval and p values.

Below ``EXACT_FROM`` seeds the p values are Student's t test's, from there on the sign-flip test's,
and so they are where all seeds have the same value. Where a value is infinite (a run diverged),
values are replaced by signed ranks: the p values are those of Wilcoxon's signed-rank test, exact,
and the estimate is the median.

A ratio of means has two numbers per seed, a part and a whole. That it is θ is tested on part − θ ·
whole, and its interval has all θ that are not rejected so (Fieller 1954, by the test that decides).

The sign-flip test counts the choices of signs whose sum is at least the observed one: under the
null hypothesis each value could as well have had the other sign. It assumes no distribution but
symmetry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verdicts.statistics.estimates import ALPHA, FEWEST, ROUNDING, estimate

if TYPE_CHECKING:
    import pandas as pd

RELATIONS = ("above", "below", "near", "paper")


@dataclass(frozen=True)
class Expectation:
    """What a claim says about the mean of a quantity over seeds."""

    #: ``above`` or ``below`` the value; ``near`` it, within the margin; or the value is the one
    #: that the ``paper`` prints.
    relation: str
    value: float
    #: In the unit of the quantity; required by ``near`` and ``paper``. With ``above`` and
    #: ``below``, the largest difference from the value that counts as none.
    margin: float | None = None

    @property
    def directed(self) -> bool:
        """Whether it is a direction, not a value."""
        return self.relation in ("above", "below")

    def toward(self, values: pd.Series) -> pd.Series:
        """How far values are from the expected one, on the side of the direction."""
        return values - self.value if self.relation == "above" else self.value - values

    def __str__(self) -> str:
        if self.margin is None:
            return f"{self.relation} {self.value:g}"
        sign = " ±" if self.relation in ("near", "paper") else "; margin"
        return f"{self.relation} {self.value:g}{sign} {self.margin:g}"


NAN = float("nan")

#: From this number of seeds on, the sign-flip test decides.
EXACT_FROM = 8

#: The one-sided p value of a positive centre.
Test = Callable[[np.ndarray], float]

#: Fewer ranks or signs can't have a two-sided p value below 5 %.
RANKED_FROM = 6

#: An interval of a ratio that reaches so many times its first step is unbounded.
WIDEST = 1e6

#: The most values for which all choices of signs are counted.
EXACT = 40

#: The number of random choices of signs beyond that.
DRAWS = 200_000

#: Sums count as equal if they differ by this share of the sum of absolute values.
EQUAL_SUMS = 1e-12


def upper_tail(values: np.ndarray) -> float:
    """The one-sided p value of a positive centre: the share of sign choices with this sum or more.

    Up to ``EXACT`` values, all 2^n choices are counted: the sums of both halves of the values are
    listed, and for each sum of one half, a binary search counts the sums of the other half that
    are large enough. For more values, ``DRAWS`` random choices of a fixed stream and the observed
    one are counted.
    """
    values = np.asarray(values, dtype=float)
    least = values.sum() - EQUAL_SUMS * np.abs(values).sum()
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


@dataclass(frozen=True)
class Evidence:
    """What the values of some seeds say about an expectation. What does not exist is NaN."""

    expectation: Expectation
    #: Number of seeds with a value.
    pairs: int
    #: Number of infinite values among them.
    infinite: int
    #: The mean, or the median if there are infinite values.
    estimate: float
    low: float
    #: The 95 % interval: Student's t for the mean, of order statistics for the median. NaN below
    #: ``FEWEST`` seeds.
    high: float
    #: Sample standard deviation.
    spread: float
    #: 1 or −1: on which side of the expected value the values are.
    side: int
    #: Two-sided p value of the t test of a difference from the expected value.
    p_t: float
    #: The same of the sign-flip test, from ``EXACT_FROM`` seeds on.
    p_sign_flip: float
    #: The p value that decides. ``above``, ``below``: of a difference, two-sided. ``near``: that
    #: the mean is outside the margin. ``paper``: the same of the paper's value, as one more seed.
    p: float
    #: That the mean is within the margin: two one-sided tests. NaN without a margin.
    p_equivalent: float
    #: Why these values can decide nothing; empty if they can.
    obstacle: str
    #: The numbers of seeds at which the claim is judged (``sequential``); empty: at any. Then the
    #: p values ``p`` and ``p_equivalent`` are those over all looks taken.
    plan: tuple[int, ...] = ()
    #: How many looks were taken; None without a plan.
    looks: int | None = None
    #: In which seeds runs diverged, and which seeds or runs do not count, and why; or empty.
    left_out: str = ""


def evidence(
    values: np.ndarray, expectation: Expectation, sign_test: Test = upper_tail
) -> Evidence:
    """The evidence in one value per seed, or in a part and a whole per seed: ``[seeds, 2]``.

    NaN is a seed without a value. Wholes have a positive mean. ``sign_test`` is used from
    ``EXACT_FROM`` seeds on; simulations have a faster one.
    """
    given = np.asarray(values, dtype=float)
    ratio = given.ndim == 2
    given = given[~np.isnan(given).any(axis=1)] if ratio else given[~np.isnan(given)]
    part, whole = _scaled(given) if ratio else (given, np.ones(len(given)))
    off = part - (expectation.value * whole if expectation.value else 0.0)
    count, infinite = len(off), int(np.count_nonzero(np.isinf(off)))
    size = float(np.abs([*part, expectation.value]).max())
    enough = count >= FEWEST
    constant = enough and not infinite and bool(_rounding(off - off.mean(), size).all())
    if infinite:
        tail: Test = _rank_tail
    else:
        tail = sign_test if count >= EXACT_FROM or constant else _t_tail
    side, p_t, p_sign_flip, p, p_equivalent = 1, NAN, NAN, NAN, NAN
    if enough:
        off = np.where(_rounding(off, size), 0.0, off) if constant else off
        difference, side = _two_sided(tail, off)
        p_t = NAN if infinite or constant else _two_sided(_t_tail, off)[0]
        p_sign_flip = difference if tail is sign_test else NAN
        p, p_equivalent = _p_values(off, whole, expectation, tail, difference, constant=constant)
    estimated, low, high = _interval_of_ratio(part, whole, tail) if ratio else _interval(part)
    spread = float(off.std(ddof=1)) * (not constant) if count > 1 and not infinite else NAN
    return Evidence(
        expectation=expectation, pairs=count, infinite=infinite,
        estimate=estimated, low=low, high=high, spread=spread, side=side,
        p_t=p_t, p_sign_flip=p_sign_flip, p=p, p_equivalent=p_equivalent,
        obstacle=_obstacle(count, infinite, expectation, constant=constant),
    )  # fmt: skip


def _scaled(given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parts and wholes over the mean whole: the mean of the parts is then the ratio of means."""
    part, whole = given.T
    finite = whole[np.isfinite(whole)]
    scale = float(finite.mean()) if len(finite) else 1.0
    return part / scale, whole / scale


def _p_values(
    off: np.ndarray,
    whole: np.ndarray,
    expectation: Expectation,
    tail: Test,
    difference: float,
    *,
    constant: bool,
) -> tuple[float, float]:
    """The p values ``p`` and ``p_equivalent`` of the distances from the expected value.

    A margin counts in units of ``whole``, which are 1 but for a ratio. ``difference`` is the
    two-sided p value of a difference from the expected value.
    """
    if expectation.relation == "paper" and np.isinf(off).any():
        return NAN, NAN
    if expectation.margin is None:
        return difference, NAN
    margin = np.where(np.isinf(off), 0.0, expectation.margin * whole)
    within = max(tail(off + margin), tail(margin - off))
    if expectation.relation == "paper" and not constant:
        # The paper's value has the spread of a seed, as in a prediction interval.
        error = off.std(ddof=1) * np.sqrt(1 + 1 / len(off))
        beyond = (abs(off.mean()) - expectation.margin) / error
        return min(1.0, 2 * _student(-beyond, len(off) - 1)), within
    if not expectation.directed:
        outside = min(tail(off - margin), tail(-off - margin))
        return min(1.0, 2 * outside), within
    return difference, within


def _two_sided(tail: Test, off: np.ndarray) -> tuple[float, int]:
    """The two-sided p value of a difference from 0, and its side, 1 or −1."""
    side = 1 if (signed_ranks(off) if np.isinf(off).any() else off).sum() >= 0 else -1
    return min(1.0, 2 * tail(side * off)), side


def _t_tail(values: np.ndarray) -> float:
    """One-sided p value of a positive mean, by Student's t."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    return _student(-values.mean() / error, len(values) - 1)


def _rank_tail(values: np.ndarray) -> float:
    """One-sided p value of a positive centre, by Wilcoxon's signed ranks, exact with ties."""
    return upper_tail(signed_ranks(values))


def signed_ranks(values: np.ndarray) -> np.ndarray:
    """The ranks of the absolute values, with the signs of the values; ties share their mean.

    Values that differ by rounding alone are ties.
    """
    from scipy.stats import rankdata

    return np.sign(values) * rankdata([float(f"{size:.9e}") for size in np.abs(values)])


def _student(t: float, freedom: int) -> float:
    """The distribution function of Student's t."""
    from scipy.special import stdtr

    return float(stdtr(freedom, t))


def _interval(values: np.ndarray) -> tuple[float, float, float]:
    """The estimate and its 95 % interval."""
    if not len(values):
        return (NAN,) * 3
    if np.isinf(values).any():
        return median_interval(np.sort(values))
    found = estimate(values)
    return found.mean, found.mean - found.half_width, found.mean + found.half_width


def _interval_of_ratio(
    part: np.ndarray, whole: np.ndarray, tail: Test
) -> tuple[float, float, float]:
    """The ratio of the means, and the interval of all θ that part − θ · whole does not reject.

    Where runs diverged, the θ at which the median of part − θ · whole is 0: with wholes above 0,
    that is the median of the seeds' ratios, with its interval. NaN if some whole is not.
    """
    if not len(part):
        return (NAN,) * 3
    if np.isinf(part).any() or np.isinf(whole).any():
        return median_interval(np.sort(part / whole)) if (whole > 0).all() else (NAN,) * 3
    ratio = float(part.mean() / whole.mean())
    if len(part) < FEWEST:
        return ratio, NAN, NAN
    step = estimate(part - ratio * whole).half_width

    def end(way: int) -> float:
        """The last θ on one side that is not rejected."""
        inner, outer = 0.0, step
        while _two_sided(tail, part - (ratio + way * outer) * whole)[0] > ALPHA:
            inner, outer = outer, 2 * outer
            if outer > WIDEST * step:
                return way * np.inf
        while outer - inner > 1e-4 * outer:
            middle = (inner + outer) / 2
            kept = _two_sided(tail, part - (ratio + way * middle) * whole)[0] > ALPHA
            inner, outer = (middle, outer) if kept else (inner, middle)
        return ratio + way * inner

    return (ratio, end(-1), end(1)) if step else (ratio, ratio, ratio)


def median_interval(values: np.ndarray) -> tuple[float, float, float]:
    """The median of sorted values, and the order statistics that enclose it with 95 %."""
    from scipy.special import bdtr

    count = len(values)
    lower, upper = values[(count - 1) // 2], values[count // 2]
    with np.errstate(invalid="ignore"):  # −∞ and ∞ have no mean
        median = float(lower if lower == upper else (lower + upper) / 2)
    # The interval from the k-th smallest to the k-th largest misses with 2 P(Binomial < k).
    inner = [k for k in range(1, count // 2 + 1) if 2 * bdtr(k - 1, count, 0.5) <= ALPHA]
    if not inner:
        return median, NAN, NAN
    return median, float(values[inner[-1] - 1]), float(values[-inner[-1]])


def _rounding(differences: np.ndarray, size: float) -> np.ndarray:
    """Which differences between values of this size are no more than rounding errors."""
    return np.abs(differences) <= ROUNDING * size


def _obstacle(count: int, infinite: int, expectation: Expectation, *, constant: bool) -> str:
    if count < FEWEST:
        seeds = "1 seed" if count == 1 else f"{count} seeds"
        return f"too few seeds: {seeds}; a verdict takes {FEWEST}"
    if constant and count < RANKED_FROM:
        return f"all {count} seeds have the same value, and a test of signs takes {RANKED_FROM}"
    if infinite and expectation.relation == "paper":
        return f"the number is infinite in {infinite} of {count} seeds"
    if infinite and count < RANKED_FROM:
        told = f"the number is infinite in {infinite} of {count}, and a test of ranks takes"
        return f"too few seeds: {told} {RANKED_FROM}"
    return ""
