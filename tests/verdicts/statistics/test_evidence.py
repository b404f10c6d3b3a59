"""From one number per seed to p values."""

import math

import numpy as np
import pytest
from scipy import stats

from verdicts.statistics.evidence import evidence
from verdicts.statistics.expectation import Expectation

ABOVE = Expectation("above", 0.5)
FEW = np.array([1.0, 2.0, 0.5, 1.7])
MANY = np.random.default_rng(3).normal(1, 1, 12)


def test_few_seeds_are_judged_by_the_t_test():
    found = evidence(FEW, ABOVE)
    expected = stats.ttest_1samp(FEW, 0.5)
    assert found.p == found.p_t == pytest.approx(expected.pvalue)
    assert math.isnan(found.p_sign_flip)
    interval = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert (found.estimate, found.pairs, found.side) == (pytest.approx(FEW.mean()), 4, 1)


def test_from_eight_seeds_the_sign_flip_test_decides():
    found = evidence(MANY, ABOVE)
    expected = stats.permutation_test(
        (MANY - 0.5,), np.mean, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert found.p == found.p_sign_flip == pytest.approx(expected)
    assert found.p_t == pytest.approx(stats.ttest_1samp(MANY, 0.5).pvalue)
    assert math.isnan(evidence(MANY[:7], ABOVE).p_sign_flip)


def test_the_margin_is_tested_from_both_sides():
    found = evidence(FEW, Expectation("near", 1, 2))
    low = stats.ttest_1samp(FEW, -1, alternative="greater").pvalue
    high = stats.ttest_1samp(FEW, 3, alternative="less").pvalue
    assert found.p_equivalent == pytest.approx(max(low, high))
    outside = evidence(FEW + 5, Expectation("near", 1, 2))
    assert outside.p == pytest.approx(2 * stats.ttest_1samp(FEW + 5, 3, alternative="greater")[1])
    assert evidence(FEW, Expectation("near", 1, 2)).p == 1


def test_the_papers_value_has_the_spread_of_a_seed():
    value = FEW.mean() + 3
    found = evidence(FEW, Expectation("paper", value, 0.5))
    error = FEW.std(ddof=1) * math.sqrt(1 + 1 / 4)
    assert found.p == pytest.approx(2 * stats.t.sf(2.5 / error, 3))
    same = evidence(FEW, Expectation("near", value, 0.5))
    assert found.p_equivalent == same.p_equivalent
    assert found.p > same.p


def test_a_diverged_run_is_the_most_extreme_value():
    values = np.array([0.6, 0.7, 0.8, 0.9, 1.0, 1.1, math.inf])
    found = evidence(values, ABOVE)
    assert found.p == pytest.approx(2 / 2**7)
    assert (found.estimate, found.infinite, found.side) == (0.9, 1, 1)
    assert (found.low, found.high) == (0.6, math.inf)
    assert math.isnan(found.p_t)
    against = evidence(np.append(values[:-1], -math.inf), ABOVE)
    assert against.p > 0.05
    ranks = stats.wilcoxon([1, 2, 3, 4, 5, 6, -7], method="exact").pvalue
    assert against.p == pytest.approx(ranks)


def test_divergence_in_every_seed_decides():
    found = evidence(np.full(8, math.inf), Expectation("above", 0, 1))
    assert (found.p, found.side, found.p_equivalent) == (2 / 2**8, 1, 1)
    assert found.obstacle == ""


def test_a_median_between_opposite_divergences_is_nan():
    found = evidence(np.array([-math.inf] * 3 + [math.inf] * 3), ABOVE)
    assert math.isnan(found.estimate)
    assert found.p == 1


@pytest.mark.parametrize(
    ("values", "obstacle"),
    [
        ([], "too few seeds: 0 seeds"),
        ([1], "too few seeds: 1 seed;"),
        ([1, 2, math.nan], "too few seeds: 2 seeds"),
        ([1, 1, 1], "all seeds have the same value"),
        ([0.1 + 0.2, 0.3, 0.3], "all seeds have the same value"),
        ([1, 2, 3, 4, math.inf], "too few seeds: runs diverged in 1 of 5"),
    ],
)
def test_what_decides_nothing(values, obstacle):
    assert evidence(np.array(values, dtype=float), ABOVE).obstacle.startswith(obstacle)


def test_two_seeds_have_a_mean_and_no_interval():
    found = evidence(np.array([1.0, 2.0]), ABOVE)
    assert found.estimate == 1.5
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_divergence_says_nothing_about_the_papers_value():
    found = evidence(np.array([1, 2, math.inf] * 3), Expectation("paper", 1, 1))
    assert found.obstacle == "3 of 9 values are infinite: runs diverged"
