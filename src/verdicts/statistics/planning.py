"""Interim analyses, and the power of a number of seeds.

A claim with a plan is judged at numbers of seeds that were fixed beforehand, until it is decided.
Each interim analysis spends a share of the level ``ALPHA``: the first half of it, each further one
half of what is left, and the last all that is left. The p value of a claim is the smallest
p / share of the analyses made. By the union bound, it is valid whenever one stops. More analyses
can only lower it: what is decided stays decided, and Holm's method keeps its level in a family
whose claims have had different numbers of analyses.

What a number of seeds can show follows from the noncentral t distribution.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from verdicts.lazy import optimize, special, stats
from verdicts.registry import check
from verdicts.statistics.evidence import Evidence, Expectation, evidence
from verdicts.statistics.samples import ALPHA, FEWEST, MANY, Interval

#: The numbers of seeds at which a claim is judged, rising; empty for a claim without a plan.
Plan = tuple[int, ...]

MOST_LOOKS, LARGEST_LOOK = 10, 1_000_000

POWER = 0.8
MOST_SEEDS = 10_000

#: Of a simulation: the samples, and the choices of signs in each test, by claim of the family.
SIMULATED, DRAWS = 1000, 2000


def checked_plan(key: str, value: object) -> Plan:
    """The plan that a claims file gives, as ``[10, 20, 40]``; null is none. A UserError if not."""
    if value is None:
        return ()
    looks = value if isinstance(value, list) else []
    right = 0 < len(looks) <= MOST_LOOKS
    right = right and all(type(of) is int and FEWEST <= of <= LARGEST_LOOK for of in looks)
    seeds = f"{FEWEST} to {LARGEST_LOOK:,}, at most {MOST_LOOKS}"
    wanted = f"give rising numbers of seeds, {seeds}, or null"
    check(right and looks == sorted(set(looks)), key, value, wanted)
    return tuple(looks)


def shares(plan: Plan) -> list[float]:
    """The share of α that each interim analysis spends; their sum is 1."""
    halves = [0.5 ** (k + 1) for k in range(len(plan))]
    return [*halves[:-1], 2 * halves[-1]] if plan else [1.0]


def sequential(values: np.ndarray, expectation: Expectation, plan: Plan) -> Evidence:
    """The evidence at the last planned analysis for which there are enough seeds.

    ``values`` has one for each seed, in the order of seeds; NaN where a seed has none. Values
    beyond the number of seeds of that analysis do not count. The p values are over all analyses
    made.
    """
    taken = [look for look in plan if look <= len(values)]
    if taken:
        return over_looks([evidence(values[:look], expectation) for look in taken], plan)
    early, nan = evidence(values, expectation), float("nan")
    obstacle = early.obstacle or f"{len(values)} of the {plan[0]} seeds of the first look"
    return replace(early, p=nan, p_equivalent=nan, plan=plan, looks=0, obstacle=obstacle)


def over_looks(looks: Sequence[Evidence], plan: Plan) -> Evidence:
    """The last of ``looks``, which are the first analyses of a plan, with p values over all.

    The interval contains the values that no analysis rejects at its share of the level.
    """
    spent = np.array(shares(plan))[: len(looks)]
    scaled = np.array([[look.p, look.p_equivalent] for look in looks]) / spent[:, None]
    p, p_equivalent = np.minimum(1.0, np.fmin.reduce(scaled)).tolist()
    last, none = looks[-1], bool(np.isnan(scaled[:, 0]).all())
    first = len(looks) - 1 if none else int(np.nanargmin(scaled[:, 0]))
    obstacle = last.obstacle if all(look.obstacle for look in looks) else ""

    def interval(level: float) -> Interval:
        pairs = zip(looks, spent, strict=True)
        lows, highs = zip(*(look.interval(share * level) for look, share in pairs), strict=True)
        low, high = float(np.fmax.reduce(lows)), float(np.fmin.reduce(highs))
        if not low > high:  # or there are none
            return low, high
        return looks[first].interval(spent[first] * level)

    return replace(
        last, p=p, p_equivalent=p_equivalent, side=looks[first].side, obstacle=obstacle,
        interval=interval, last=last.interval, plan=plan, looks=len(looks),
    )  # fmt: skip


def share_at(evidence: Evidence, *, coming: bool = False) -> float:
    """The share of α of the last analysis made, or of the coming one; 1 without a plan."""
    spent, taken = shares(evidence.plan), (evidence.looks or 0) + coming
    return spent[min(max(taken, 1), len(spent)) - 1]


def detectable(evidence: Evidence, family: int = 1) -> float:
    """The smallest difference from the expected value that so many seeds show with power 80 %.

    It is in the unit of the quantity, and follows from the standard deviation of these seeds. The
    level is that left to each claim of the family (α / size), times the share of the analysis. For
    ``near``, it is a difference that exceeds the margin. NaN with fewer than three seeds, or if
    all have the same value.
    """
    count, spread, expected = evidence.pairs, evidence.spread, evidence.expectation
    if count < FEWEST or not spread > 0:
        return math.nan
    level = ALPHA * share_at(evidence) / family
    power = draw_power if expected.relation == "paper" else difference_power
    high = 1.0
    while power(high, count, level) < POWER:
        high *= 2
    effect = optimize.brentq(lambda effect: power(effect, count, level) - POWER, 0, high, xtol=1e-6)
    return (expected.margin or 0.0) * (expected.relation == "near") + spread * float(effect)


def seeds_needed(evidence: Evidence, family: int = 1) -> float:
    """The fewest seeds that decide the claim with power 80 % if what was measured is true.

    See ``chance``. With a plan, the level is that of the coming analysis. Infinite if more than
    ``MOST_SEEDS`` are needed. NaN with fewer than three seeds, or if all have the same value; and
    for a printed number, since more seeds do not narrow the interval for one more run.
    """
    printed = evidence.expectation.relation == "paper"
    if evidence.pairs < FEWEST or not evidence.spread > 0 or printed:
        return math.nan
    level = ALPHA * share_at(evidence, coming=True) / family
    counts = range(FEWEST, MOST_SEEDS + 1)
    enough = bisect_left(counts, True, key=lambda count: chance(evidence, count, level) >= POWER)
    return float(counts[enough]) if enough < len(counts) else math.inf


def chance(evidence: Evidence, count: int, level: float = ALPHA) -> float:
    """The probability that ``count`` seeds decide the claim, if what was measured is true.

    By a difference (for ``near``, from the margin's edge), or by equivalence if the estimate is
    within a margin. ``evidence`` has three seeds or more, and a spread.
    """
    spread, expected = evidence.spread, evidence.expectation
    effect = abs(evidence.estimate - expected.value) / spread
    margin = math.nan if expected.margin is None else expected.margin / spread
    same = equivalence_power(effect, margin, count, level) if effect < margin else 0.0
    beyond = effect - margin if expected.relation == "near" else effect
    return max(same, difference_power(beyond, count, level) if beyond > 0 else 0.0)


def seeds_that_decide(sd: float, effect: float, margin: float, family: int = 1) -> float:
    """The fewest seeds with which 80 % of simulated claims that a difference is above 0 hold.

    With ``effect`` 0, with which 80 % are equivalent. ``sd`` is that of a number, with normal
    noise; the test is the one that decides so many seeds. Infinite beyond ``MOST_SEEDS``.
    """
    expected, level = Expectation("above", 0.0, margin), ALPHA / family

    def share(count: int) -> float:
        samples = np.random.default_rng(count).normal(effect, sd, (SIMULATED, count))
        found = [evidence(values, expected, DRAWS * family) for values in samples]
        return float(np.mean([e.p <= level if effect else e.p_equivalent <= ALPHA for e in found]))

    count = seeds_needed(Evidence(expected, FEWEST, 0, effect, sd, ""), family)
    if count <= MANY:  # Student's test, which gave this number, may not be the one that decides
        while count > FEWEST and share(int(count) - 1) >= POWER:
            count -= 1
        while share(int(count)) < POWER:
            count += 1
    return count


def difference_power(effect: float, count: int, level: float = ALPHA) -> float:
    """The power of the two-sided t test for a mean of ``effect`` standard deviations."""
    centre = effect * math.sqrt(count)
    # Far from zero, the other tail is nil, and nct is exact enough.
    return _beyond(level / 2, count, centre, -centre)


def equivalence_power(effect: float, margin: float, count: int, level: float = ALPHA) -> float:
    """The power of the two one-sided t tests, effect and margin in standard deviations."""
    root = math.sqrt(count)
    return max(0.0, _beyond(level, count, (margin + effect) * root, (margin - effect) * root) - 1)


def draw_power(effect: float, count: int, level: float = ALPHA) -> float:
    """The power to show that a given value is not that of one more of our seeds.

    The value is ``effect`` standard deviations from our mean. The test is that of the prediction
    interval for one more seed.
    """
    return _beyond(level / 2, count, effect * math.sqrt(count), times=math.sqrt(count + 1))


def _beyond(level: float, count: int, *centres: float, times: float = 1.0) -> float:
    """How likely noncentral t's, added up, are beyond ``times`` the critical value of a level."""
    critical = float(special.stdtrit(count - 1, 1 - level)) * times
    return float(sum(stats.nct.sf(critical, count - 1, centre) for centre in centres))
