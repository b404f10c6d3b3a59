"""What one number per seed says about an expectation: an estimate, p values and intervals.

Below ``EXACT_FROM`` seeds the tests are Student's, from there on sign flips, and so they are where
all seeds have the same value. Where a value is infinite (a run diverged), they are Wilcoxon's, and
the estimate is the median. A ratio of means has two numbers per seed, a part and a whole. An
interval has all values that the test does not reject (``samples``).

A printed number is compared with the prediction interval for one more run: by Student's t and the
spread of our seeds, or by both standard errors where its own is printed, too (Patil, Peng and Leek
2016).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import comb, nan

import numpy as np

from verdicts.lazy import pd
from verdicts.statistics import samples
from verdicts.statistics.samples import ALPHA, FEWEST, ROUNDING

RELATIONS = ("above", "below", "near", "paper")


@dataclass(frozen=True)
class Expectation:
    """What a claim says about the mean of a quantity over seeds."""

    #: ``above`` or ``below`` the value; ``near`` it, within the margin; or the value is the one
    #: that the ``paper`` prints.
    relation: str
    value: float
    #: In the unit of the quantity; required by ``near``. With ``above`` and ``below``, the largest
    #: difference from the value that counts as none. ``paper`` has none.
    margin: float | None = None
    #: The standard error of a printed value, if it is printed, too; else it counts as one seed.
    error: float | None = None
    #: Of how many seeds that standard error is; None: of as many as ours.
    seeds: int | None = None
    #: Where the scale of the quantity ends: (0, 100) for points of a level; None: nowhere.
    scale: tuple[float, float] | None = None
    #: Half of the last digit of a printed value, if that is known.
    rounding: float = 0.0

    @property
    def directed(self) -> bool:
        """Whether it is a direction, not a value."""
        return self.relation in ("above", "below")

    def toward(self, values: pd.Series) -> pd.Series:
        """How far values are from the expected one, on the side of the direction."""
        return values - self.value if self.relation == "above" else self.value - values

    def on_scale(self, low: float, high: float) -> samples.Interval:
        """An interval, cut where the scale ends."""
        return (low, high) if self.scale is None else tuple(np.clip([low, high], *self.scale))

    def __str__(self) -> str:
        text = f"{self.relation} {self.value:g}"
        if self.error is not None:
            return f"{text} (standard error {self.error:g})"
        if self.margin is None:
            return text
        return f"{text}{' ±' if self.relation == 'near' else '; margin'} {self.margin:g}"


#: From this number of seeds on, the sign-flip test decides.
EXACT_FROM = 8

#: Fewer ranks or signs can't have a two-sided p value below 5 %.
RANKED_FROM = 6

#: A mean whose skewness is beyond this is skewed: that of ten seeds with a skewness of 1.
SKEWED = 0.3

#: The interval at a two-sided level.
Intervals = Callable[[float], samples.Interval]


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
    #: Sample standard deviation.
    spread: float
    #: Why these values can decide nothing; empty if they can.
    obstacle: str
    #: 1 or −1: on which side of the expected value the values are.
    side: int = 1
    #: Two-sided p value of the t test of a difference from the expected value.
    p_t: float = nan
    #: The same of the sign-flip test, from ``EXACT_FROM`` seeds on.
    p_sign_flip: float = nan
    #: The p value that decides. Small values show, for ``above`` and ``below``, a difference from
    #: the expected value (two-sided); for ``near``, that the mean is outside the margin; for
    #: ``paper``, that the printed number is not that of one more run.
    p: float = nan
    #: The p value of two one-sided tests: a small one shows that the mean is within the margin.
    #: NaN without a margin.
    p_equivalent: float = nan
    #: The skewness of the mean.
    skewness: float = 0.0
    #: What the test that decides does not reject; of ``paper``, the prediction interval.
    interval: Intervals = field(default=lambda level: (nan, nan), compare=False, repr=False)
    #: The same of the last interim analysis alone, at the whole level; None without a plan.
    last: Intervals | None = field(default=None, compare=False, repr=False)
    #: The numbers of seeds at which the claim is judged (``sequential``); empty: at any. Then the
    #: p values ``p`` and ``p_equivalent`` are those over all analyses made.
    plan: tuple[int, ...] = ()
    #: How many interim analyses were made; None without a plan.
    looks: int | None = None
    #: In which seeds runs diverged, and which seeds or runs do not count, and why; or empty.
    left_out: str = ""


def evidence(
    values: np.ndarray, expectation: Expectation, draws: int = samples.DRAWS, student: bool = False
) -> Evidence:
    """The evidence in one value per seed, or in a part and a whole per seed: ``[seeds, 2]``.

    NaN is a seed without a value. Wholes have a positive mean. ``draws`` is the number of choices
    of signs (``samples``); simulations take fewer. With ``student``, Student's test
    decides from ``EXACT_FROM`` seeds on, too.
    """
    given = np.asarray(values, dtype=float)
    given = given if given.ndim == 2 else np.stack([given, np.ones_like(given)], 1)
    part, whole = given[~np.isnan(given).any(axis=1)].T
    # Over the mean whole: the mean of the parts is then the ratio of means.
    finite = whole[np.isfinite(whole)]
    scale = float(finite.mean()) if len(finite) else 1.0
    part, whole, value = part / scale, whole / scale, expectation.value
    off = part - (value * whole if value else 0.0)  # 0 · ∞ is no number
    count, infinite = len(off), int(np.count_nonzero(np.isinf(off)))
    least = ROUNDING * float(np.abs([*part, value]).max())
    constant = count >= FEWEST and not infinite and bool((abs(off - off.mean()) <= least).all())
    spread = float(off.std(ddof=1)) * (not constant) if count > 1 and not infinite else nan
    obstacle = _obstacle(count, infinite, expectation, constant=constant)
    found = Evidence(expectation, count, infinite, _estimate(part, whole), spread, obstacle)
    if count < FEWEST or (infinite and expectation.relation == "paper"):
        return found
    if expectation.relation == "paper":
        return of_printed(found)
    if constant:
        off = np.where(abs(off) <= least, 0.0, off)
        part = off + value * whole
    side = 1 if (samples.signed_ranks(off) if infinite else off).sum() >= 0 else -1
    if infinite:
        return tested(found, samples.SignedRanks(part, whole), side)
    test: samples.OneSample = samples.StudentT(part, whole)
    if not constant:
        p_t = samples.two_sided(test, value, side)
        found = replace(found, p_t=p_t, skewness=samples.skewness(off))
    if constant or (EXACT_FROM <= count <= samples.MANY and not student):
        # of many equal numbers, some say as much as all
        test = samples.SignFlips(part[: samples.MANY], whole[: samples.MANY], draws)
        found = replace(found, p_sign_flip=samples.two_sided(test, value, side))
    return tested(found, test, side)


def unpaired_evidence(
    of: np.ndarray,
    minus: np.ndarray,
    expectation: Expectation,
    test: str = samples.WELCH,
    splits: int = samples.SPLITS,
) -> Evidence:
    """The evidence in the runs of two sides, with a note on the test; NaN is a run without a value.

    ``pairs`` is the number of runs of the smaller side, and ``spread`` that of the difference of
    one run of each. Permutations decide where the claim asks for them, where a value is infinite
    (by ranks; the estimate is the median of all pairs), and where all runs of each side are equal.
    """
    given = len(of) + len(minus)
    of, minus = (np.asarray(side, float)[~np.isnan(side)] for side in (of, minus))
    counts, infinite = (len(of), len(minus)), int(np.isinf([*of, *minus]).sum())
    estimate, spread = np.nan, np.nan
    if infinite and len(pairs := samples.differences(of, minus)):
        estimate = float(np.median(pairs))
    elif min(counts) and not infinite:
        estimate = float(of.mean() - minus.mean())
    if min(counts) > 1 and not infinite:
        spread = float(np.hypot(of.std(ddof=1), minus.std(ddof=1)))
        spread *= spread > ROUNDING * float(np.abs([*of, *minus]).max())
    permuted = test == samples.PERMUTATION or bool(infinite) or spread == 0
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
    skewness = samples.skewness(of, minus) if spread > 0 else 0.0
    one = samples.Permutation(of, minus, splits) if permuted else samples.Welch(of, minus)
    side = 1 if one.tail(expectation.value, 1) <= one.tail(expectation.value, -1) else -1
    p_t = nan if permuted else samples.two_sided(one, expectation.value, side)
    return tested(replace(found, p_t=p_t, skewness=skewness), one, side)


def tested(found: Evidence, test: samples.OneSample, side: int) -> Evidence:
    """The evidence with what a test says of the expected value, and of the margin around it."""
    value, margin = found.expectation.value, found.expectation.margin
    p, p_equivalent, asked = samples.two_sided(test, value, side), nan, [value]
    if margin is not None:
        low, high = value - margin, value + margin
        p_equivalent = max(test.tail(low, 1), test.tail(high, -1))
        asked = [value, low, high]
        if found.expectation.relation == "near":
            p, asked = min(1.0, 2 * min(test.tail(high, 1), test.tail(low, -1))), [low, high]

    def interval(level: float) -> samples.Interval:
        """What the test does not reject; whether it has the values ``asked`` is as it says."""
        start, end = test.interval(level)
        for theta in asked:
            if test.tail(theta, 1) <= level / 2:  # the centre is above it
                start = max(start, float(np.nextafter(theta, np.inf)))
            elif test.tail(theta, -1) <= level / 2:
                end = min(end, float(np.nextafter(theta, -np.inf)))
            else:
                start, end = min(start, theta), max(end, theta)
        return start, end

    return replace(found, side=side, p=p, p_equivalent=p_equivalent, interval=interval)


def of_printed(found: Evidence) -> Evidence:
    """The evidence with what the prediction interval says of a printed value.

    The errors of both sides have Student's distributions with their numbers of seeds
    (``samples.student_p``); a printed one without its number has ours.
    """
    of, count = found.expectation, found.pairs
    theirs, runs = (found.spread, count) if of.error is None else (of.error, of.seeds or count)
    errors = np.array([theirs, found.spread / np.sqrt(count)])
    freedoms, both = np.array([runs - 1.0, count - 1.0]), float(np.hypot(*errors))
    off = max(0.0, abs(found.estimate - of.value) - of.rounding)
    if not both:
        p = float(off <= ROUNDING * max(abs(found.estimate), abs(of.value)))
    else:
        p = float(samples.student_p(np.array(off / both), errors, freedoms))

    def interval(level: float) -> samples.Interval:
        half = both * float(samples.student_quantile(level, errors, freedoms)) + of.rounding
        return found.estimate - half, found.estimate + half

    return replace(found, p=p, interval=interval)


def _estimate(part: np.ndarray, whole: np.ndarray) -> float:
    """The ratio of the means; where runs diverged, the median of the seeds' ratios.

    NaN if that does not exist: a whole is not above 0.
    """
    if not len(part):
        return nan
    if np.isinf(part).any() or np.isinf(whole).any():
        return samples.median_interval(np.sort(part / whole))[0] if (whole > 0).all() else nan
    return float(part.mean() / whole.mean())


def _obstacle(count: int, infinite: int, expectation: Expectation, *, constant: bool) -> str:
    if count < FEWEST:
        return f"too few seeds: {count} seed{'s' * (count != 1)}; a verdict takes {FEWEST}"
    told = f"the number is infinite in {infinite} of {count}"
    if infinite and expectation.relation == "paper":
        return f"{told} seeds"
    if constant and count < RANKED_FROM:
        return f"all {count} seeds have the same value, and a test of signs takes {RANKED_FROM}"
    if infinite and count < RANKED_FROM:
        return f"too few seeds: {told}, and a test of ranks takes {RANKED_FROM}"
    return ""
