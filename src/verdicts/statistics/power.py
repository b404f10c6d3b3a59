"""What a number of seeds can show, by the noncentral t distribution."""

from __future__ import annotations

import math
from collections.abc import Callable

from verdicts.lazy import optimize, special, stats
from verdicts.statistics.estimates import ALPHA, FEWEST
from verdicts.statistics.evidence import Evidence
from verdicts.statistics.sequential import share_at

POWER = 0.8
MOST_SEEDS = 10_000


def detectable(evidence: Evidence, family: int = 1) -> float:
    """The smallest difference from the expected value that so many seeds show with power 80 %.

    In the unit of the quantity, from the spread that was seen, at the level that is left to each
    claim of the family (α / size) at its look. For ``near``, a difference that exceeds the margin.
    NaN with fewer than three seeds or without a spread.
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
    least = expected.margin or 0.0 if expected.relation == "near" else 0.0
    return least + spread * float(effect)


def seeds_needed(evidence: Evidence, family: int = 1) -> float:
    """The fewest seeds that decide the claim with power 80 % if what was measured is true.

    See ``chance``. With a plan, at the level of the look that comes. NaN with fewer than three
    seeds or without a spread, and of printed numbers: more seeds do not narrow the interval for one
    more. Infinite if more than ``MOST_SEEDS`` are needed.
    """
    printed = evidence.expectation.relation == "paper"
    if evidence.pairs < FEWEST or not evidence.spread > 0 or printed:
        return math.nan
    level = ALPHA * share_at(evidence, coming=True) / family
    return _fewest(lambda count: chance(evidence, count, level) >= POWER)


def chance(evidence: Evidence, count: int, level: float = ALPHA) -> float:
    """The probability that ``count`` seeds decide the claim, if what was measured is true.

    By a difference (for ``near``, from the margin's edge), or by equivalence if the estimate is
    within a margin. ``evidence`` has three seeds or more, and a spread.
    """
    spread, expected = evidence.spread, evidence.expectation
    effect = abs(evidence.estimate - expected.value) / spread
    margin = math.nan if expected.margin is None else expected.margin / spread
    powers = [0.0]
    if effect < margin:
        powers.append(equivalence_power(effect, margin, count, level))
    beyond = effect - margin if expected.relation == "near" else effect
    if beyond > 0:
        powers.append(difference_power(beyond, count, level))
    return max(powers)


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
    root = math.sqrt(count)
    return _beyond(level / 2, count, effect * root, times=math.sqrt(count + 1))


def _beyond(level: float, count: int, *centres: float, times: float = 1.0) -> float:
    """How likely noncentral t's, added up, are beyond ``times`` the critical value of a level."""
    critical = float(special.stdtrit(count - 1, 1 - level)) * times
    return float(sum(stats.nct.sf(critical, count - 1, centre) for centre in centres))


def _fewest(enough: Callable[[int], bool]) -> float:
    """The smallest number of seeds that is enough; more are enough too."""
    if not enough(MOST_SEEDS):
        return math.inf
    low, high = FEWEST - 1, FEWEST
    while not enough(high):
        low, high = high, min(2 * high, MOST_SEEDS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(high)
