"""Looks at a claim: verdicts at numbers of seeds that were fixed beforehand."""

import numpy as np
import pytest

from verdicts.registry import UserError
from verdicts.statistics.evidence import evidence
from verdicts.statistics.expectation import Expectation
from verdicts.statistics.judgement import EQUIVALENT, HOLDS, UNDECIDED, judge
from verdicts.statistics.power import chance, detectable, seeds_needed
from verdicts.statistics.sequential import checked_plan, sequential, shares

PLAN = (10, 20, 40)
ABOVE = Expectation("above", 0.0, 1.0)


def values(mean, count, seed=0):
    return np.random.default_rng(seed).standard_normal(count) + mean


def test_the_shares_of_the_looks_are_all_of_alpha():
    assert shares((10, 20, 40, 80)) == [0.5, 0.25, 0.125, 0.125]
    for looks in range(1, 8):
        assert sum(shares(tuple(range(3, 3 + looks)))) == 1
    assert shares(()) == [1]


def test_a_look_has_its_share_of_alpha():
    found, plain = sequential(x := values(0.5, 10), ABOVE, PLAN), evidence(x, ABOVE)
    assert found.p == 2 * plain.p
    assert found.p_equivalent == min(1, 2 * plain.p_equivalent)
    assert (found.looks, found.pairs, found.estimate) == (1, 10, plain.estimate)
    assert detectable(found) > detectable(plain)
    assert seeds_needed(found) > seeds_needed(plain)
    assert chance(found, 20, 0.0125) < chance(plain, 20) < chance(plain, 40)


def test_seeds_between_two_looks_do_not_count():
    x = values(0.5, 19)
    assert sequential(x, ABOVE, PLAN) == sequential(x[:10], ABOVE, PLAN)
    assert sequential(values(0.5, 99), ABOVE, PLAN).pairs == 40


def test_before_the_first_look_nothing_is_decided():
    found = sequential(values(9, 9), ABOVE, PLAN)
    (verdict,) = judge([found])
    assert (verdict.verdict, verdict.reason) == (UNDECIDED, "9 of the 10 seeds of the first look")
    assert (found.looks, found.pairs) == (0, 9)
    assert np.isnan([found.p, found.p_equivalent]).all()


def test_what_a_look_decided_later_seeds_do_not_undo():
    x = np.concatenate([values(3, 10), values(-3, 10)])
    (first,) = judge([sequential(x[:10], ABOVE, PLAN)])
    (second,) = judge([found := sequential(x, ABOVE, PLAN)])
    assert (first.verdict, second.verdict) == (HOLDS, HOLDS)
    assert found.estimate == pytest.approx(x.mean())


def test_a_later_look_decides_what_an_earlier_did_not():
    x = values(0, 20, seed=1) / values(0, 20, seed=1).std()
    near = Expectation("above", 0.0, 0.75)
    verdicts = [judge([sequential(x[:count], near, PLAN)])[0].verdict for count in (10, 20)]
    assert verdicts == [UNDECIDED, EQUIVALENT]


def test_a_seed_without_a_value_is_a_seed():
    x = values(1, 20)
    x[3] = np.nan
    found = sequential(x, ABOVE, PLAN)
    assert (found.looks, found.pairs) == (2, 19)
    empty = sequential(np.full(20, np.nan), ABOVE, PLAN)
    assert (empty.looks, empty.obstacle[:13]) == (2, "too few seeds")


def test_a_family_whose_claims_are_at_different_looks_is_adjusted_together():
    short, long = sequential(values(1.5, 10), ABOVE, PLAN), sequential(values(0.9, 20), ABOVE, PLAN)
    alone = sorted([short.p, long.p])
    together = sorted(verdict.p_adjusted for verdict in judge([short, long]))
    assert together == [2 * alone[0], max(2 * alone[0], alone[1])]


@pytest.mark.parametrize(
    "plan", [[], [2, 10], [10, 10], [20, 10], [10, 20.5], ["10"], 10, [True], list(range(3, 14))]
)
def test_mistakes_in_a_plan(plan):
    with pytest.raises(UserError, match="looks: .* is not allowed; give rising numbers of seeds"):
        checked_plan("looks", plan)
    assert checked_plan("looks", None) == ()
