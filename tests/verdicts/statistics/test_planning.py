"""Looks at a claim: verdicts at numbers of seeds that were fixed beforehand."""

import math

import numpy as np
import pytest
from cases import cases, refused
from scipy.stats import ttest_1samp

from verdicts.statistics import planning
from verdicts.statistics.evidence import Expectation, evidence
from verdicts.statistics.judgement import EQUIVALENT, HOLDS, UNDECIDED, judge
from verdicts.statistics.planning import checked_plan, detectable, seeds_needed, sequential, shares

PLAN = (10, 20, 40)
ABOVE = Expectation("above", 0.0, 1.0)


def values(mean, count, seed=0):
    return np.random.default_rng(seed).standard_normal(count) + mean


def test_the_shares_of_alpha_are_all_of_it_and_a_look_has_its_own():
    assert shares((10, 20, 40, 80)) == [0.5, 0.25, 0.125, 0.125]
    for looks in range(1, 8):
        assert sum(shares(tuple(range(3, 3 + looks)))) == 1
    assert shares(()) == [1]
    found, plain = sequential(x := values(0.5, 10), ABOVE, PLAN), evidence(x, ABOVE)
    assert found.p == 2 * plain.p
    assert found.p_equivalent == min(1, 2 * plain.p_equivalent)
    assert (found.looks, found.pairs, found.estimate) == (1, 10, plain.estimate)
    assert detectable(found) > detectable(plain)
    assert seeds_needed(found) > seeds_needed(plain)
    some, more = planning.chance(plain, 20), planning.chance(plain, 40)
    assert planning.chance(found, 20, 0.0125) < some < more


def test_an_interval_has_what_no_look_rejects_at_its_share():
    given = values(0.5, 7)
    alone, both = (sequential(x, Expectation("above", 0), (5, 7)) for x in (given[:5], given))
    ends = [ttest_1samp(given[:k], 0).confidence_interval(1 - 0.025) for k in (5, 7)]
    assert alone.interval(0.05) == pytest.approx(tuple(ends[0]))
    expected = max(low for low, _ in ends), min(high for _, high in ends)
    assert both.interval(0.05) == pytest.approx(expected)


def test_before_the_first_look_nothing_is_decided_and_a_seed_without_a_value_counts():
    found = sequential(values(9, 9), ABOVE, PLAN)
    (verdict,) = judge([found])
    assert (verdict.verdict, verdict.reason) == (UNDECIDED, "9 of the 10 seeds of the first look")
    assert (found.looks, found.pairs) == (0, 9)
    assert np.isnan([found.p, found.p_equivalent]).all()
    x = values(1, 20)
    x[3] = np.nan
    found = sequential(x, ABOVE, PLAN)
    assert (found.looks, found.pairs) == (2, 19)
    empty = sequential(np.full(20, np.nan), ABOVE, PLAN)
    assert (empty.looks, empty.obstacle[:13]) == (2, "too few seeds")


def test_later_looks_decide_what_earlier_did_not_and_undo_nothing():
    x = np.concatenate([values(3, 10), values(-3, 10)])
    (first,) = judge([sequential(x[:10], ABOVE, PLAN)])
    (second,) = judge([found := sequential(x, ABOVE, PLAN)])
    assert (first.verdict, second.verdict) == (HOLDS, HOLDS)
    assert found.estimate == pytest.approx(x.mean())
    x = values(0, 20, seed=1) / values(0, 20, seed=1).std()
    near = Expectation("above", 0.0, 0.75)
    verdicts = [judge([sequential(x[:count], near, PLAN)])[0].verdict for count in (10, 20)]
    assert verdicts == [UNDECIDED, EQUIVALENT]


def test_a_family_whose_claims_are_at_different_looks_is_adjusted_together():
    short, long = sequential(values(1.5, 10), ABOVE, PLAN), sequential(values(0.9, 20), ABOVE, PLAN)
    alone = sorted([short.p, long.p])
    together = sorted(verdict.p_adjusted for verdict in judge([short, long]))
    assert together == [2 * alone[0], max(2 * alone[0], alone[1])]


@cases(
    "plan", [], [2, 10], [10, 10], [20, 10], [10, 20.5], ["10"], 10, [True], [3, 10**400],
    list(range(3, 14)),
)  # fmt: skip
def test_mistakes_in_a_plan(plan):
    refused("looks: .* is not allowed; give rising numbers of seeds", checked_plan, "looks", plan)
    assert checked_plan("looks", None) == ()


def of(values, relation="above", value=0.0, margin=None):
    return evidence(np.asarray(values, dtype=float), Expectation(relation, value, margin))


def shifted(mean, count=10):
    """Values with this mean and the standard deviation 1."""
    noise = np.random.default_rng(count).normal(size=count)
    return mean + (noise - noise.mean()) / noise.std(ddof=1)


@pytest.mark.parametrize("count", [3, 5, 10, 20])
def test_the_smallest_effect_is_found_four_times_of_five(count):
    effect = detectable(of(shifted(0.2, count)))
    values = np.random.default_rng(1).normal(effect, 1, (4000, count))
    assert np.mean(ttest_1samp(values, 0, axis=1).pvalue < 0.05) == pytest.approx(0.8, abs=0.025)


def test_a_family_and_a_margin_take_a_larger_effect():
    alone = detectable(of(shifted(0)))
    assert detectable(of(shifted(0)), 10) > 1.3 * alone
    assert detectable(of(shifted(0), "near", margin=2)) == pytest.approx(2 + alone, rel=1e-4)
    assert detectable(of(shifted(0), "paper")) > alone


def test_the_seeds_that_an_effect_or_an_equivalence_takes():
    # Cohen's tables: a medium effect of 0.5 takes 34 pairs, a large one of 0.8 takes 15.
    assert seeds_needed(of(shifted(0.5))) == 34
    assert seeds_needed(of(shifted(0.8))) == 15
    assert seeds_needed(of(shifted(0.8)), 10) > 20
    assert seeds_needed(of(shifted(0))) == math.inf
    assert seeds_needed(of(shifted(50))) == 3
    count = seeds_needed(of(shifted(0), "near", margin=0.5))
    assert planning.equivalence_power(0, 0.5, int(count)) >= 0.8
    assert planning.equivalence_power(0, 0.5, int(count) - 1) < 0.8
    assert seeds_needed(of(shifted(0), margin=0.5)) == count
    assert seeds_needed(of(shifted(1.5), "near", margin=1)) == 34
    assert math.isnan(seeds_needed(of(shifted(9), "paper")))


@pytest.mark.parametrize("values", [[], [1], [1, 2], [1, 1, 1], [1, 2, math.inf]])
def test_without_a_spread_nothing_is_known(values):
    assert math.isnan(detectable(of(values)))
    assert math.isnan(seeds_needed(of(values)))


@cases("sd, margin, family", (1.0, 1.0, 1), (1.0, 0.8, 1), (1.0, 2.0, 10), (2.0, 5.0, 1))
def test_planned_seeds_decide_with_the_stated_power_by_the_judges_own_test(sd, margin, family):
    expected, stream = Expectation("above", 0.0, margin), np.random.default_rng(7)

    def share(effect, wanted, count, size):
        """Of families of so many equal claims."""
        found = [evidence(stream.normal(effect, sd, count), expected) for _ in range(200)]
        return np.mean([judge([one] * size)[0].verdict == wanted for one in found])

    for effect, wanted, size in ((margin, HOLDS, family), (0.0, EQUIVALENT, 1)):
        count = int(planning.seeds_that_decide(sd, effect, margin, size))
        assert share(effect, wanted, count, size) > 0.72
        assert count == 3 or share(effect, wanted, count - 1, size) < 0.86
