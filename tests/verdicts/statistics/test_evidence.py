"""From one number per seed to p values."""

import math

import numpy as np
import pytest
from cases import cases
from scipy import stats

from verdicts import estimate
from verdicts.statistics.evidence import Expectation, evidence, unpaired_evidence
from verdicts.statistics.judgement import judge
from verdicts.statistics.samples import DRAWS, SignFlips, Welch, signed_ranks

ABOVE = Expectation("above", 0.5)
FEW = np.array([1.0, 2.0, 0.5, 1.7])
MANY = np.random.default_rng(3).normal(1, 1, 12)
TESTS = (Expectation("above", 0, 0.4), Expectation("near", 0.3, 0.4), Expectation("below", 1))


def test_from_eight_seeds_the_sign_flip_test_decides():
    found = evidence(MANY, ABOVE)
    how = {"permutation_type": "samples", "n_resamples": np.inf}
    expected = stats.permutation_test((MANY - 0.5,), np.mean, **how).pvalue
    assert found.p == found.p_sign_flip == pytest.approx(expected)
    assert found.p_t == pytest.approx(stats.ttest_1samp(MANY, 0.5).pvalue)
    eight, few = evidence(MANY[:8], ABOVE), evidence(MANY[:7], ABOVE)
    assert eight.p == eight.p_sign_flip != eight.p_t
    assert (few.p, math.isnan(few.p_sign_flip), few.pairs) == (few.p_t, True, 7)
    assert found.interval(1e-4) == (-math.inf, math.inf)


def test_the_skewness_of_the_mean_is_told_and_changes_no_test():
    skewed = np.array([-0.6, -0.5, -0.4, -0.2, 1.7]) + 0.1
    found = evidence(skewed, Expectation("near", 0, 1))
    assert found.skewness == pytest.approx(stats.skew(skewed, bias=False) / math.sqrt(5))
    plain = stats.ttest_1samp(skewed, 1, alternative="less").pvalue  # the nearer end
    assert found.p_equivalent == pytest.approx(plain)
    of, minus = np.r_[skewed, skewed * 1.1], -np.r_[skewed, skewed[:3]]
    both = unpaired_evidence(of, minus, Expectation("near", 0.3, 1))
    third = sum(stats.kstat(side, 3) / len(side) ** 2 for side in (of, -minus))
    assert both.skewness == pytest.approx(third / Welch(of, minus).error ** 3)
    (verdict,) = judge([evidence(skewed, Expectation("above", 0, 3))])
    assert (verdict.verdict, verdict.reason[-19:]) == ("equivalent", "false in up to 24 %")


@pytest.mark.parametrize("infinite", [False, True])
@pytest.mark.parametrize("count", [500, 5_000])
def test_many_seeds_are_judged_by_limits(infinite, count):
    """Student's t and the normal limit of ranks agree with a reference."""
    values = np.random.default_rng(count).standard_t(5, count) + 0.3
    values[0] = -np.inf if infinite else values[0]
    found = evidence(values, Expectation("above", 0.25, 0.5))
    low, high = found.interval(0.05)
    if infinite:
        theirs = stats.wilcoxon(values - 0.25, method="asymptotic", correction=False).pvalue
        ends = np.quantile(values, [0.5 - 1 / np.sqrt(count), 0.5 + 1 / np.sqrt(count)])
    else:
        theirs = stats.ttest_1samp(values, 0.25).pvalue
        ends = stats.t.interval(0.95, count - 1, values.mean(), stats.sem(values))
    assert found.p == pytest.approx(theirs, rel=1e-6)
    assert (low, high) == pytest.approx(tuple(ends), abs=2 / np.sqrt(count))
    sides = unpaired_evidence(values, -values, Expectation("above", 0.4), "permutation")
    if infinite:
        ranks = stats.rankdata(np.r_[values - 0.4, -values])
        theirs = stats.ttest_ind(ranks[:count], ranks[count:], equal_var=False)
    else:
        theirs = stats.ttest_ind(values - 0.4, -values, equal_var=False)
    assert sides.p == pytest.approx(theirs.pvalue, rel=1e-6)
    assert sides.estimate == pytest.approx(2 * found.estimate, abs=0.2)


def test_the_margin_is_tested_from_both_sides():
    found = evidence(FEW, Expectation("near", 1, 2))
    low = stats.ttest_1samp(FEW, -1, alternative="greater").pvalue
    high = stats.ttest_1samp(FEW, 3, alternative="less").pvalue
    assert found.p_equivalent == pytest.approx(max(low, high))
    outside = evidence(FEW + 5, Expectation("near", 1, 2))
    assert outside.p == pytest.approx(2 * stats.ttest_1samp(FEW + 5, 3, alternative="greater")[1])
    assert evidence(FEW, Expectation("near", 1, 2)).p == 1


def test_the_papers_value_has_the_spread_of_a_seed():
    found = evidence(FEW, Expectation("paper", FEW.mean() + 3))
    error = FEW.std(ddof=1) * math.sqrt(1 + 1 / 4)
    assert found.p == pytest.approx(2 * stats.t.sf(3 / error, 3))
    assert found.interval(0.05) == pytest.approx(stats.t.interval(0.95, 3, FEW.mean(), error))
    assert math.isnan(found.p_equivalent)


def test_a_printed_standard_error_counts_instead_with_its_number_of_seeds():
    found = evidence(FEW, Expectation("paper", 0.2, error=0.3))
    error = math.hypot(0.3, FEW.std(ddof=1) / 2)
    t = (FEW.mean() - 0.2) / error
    ends = stats.t.interval(0.95, 3, FEW.mean(), error)  # as many seeds as ours
    assert found.interval(0.05) == pytest.approx(ends)
    many = evidence(FEW, Expectation("paper", 0.2, error=0.3, seeds=1000))
    share = (0.3 / error) ** 2
    expected = 2 * (share * stats.t.sf(t, 999) + (1 - share) * stats.t.sf(t, 3))
    assert many.p == pytest.approx(expected)
    end = many.interval(many.p)[0]  # the interval has what its test does not reject
    assert end == pytest.approx(0.2)
    rounded = evidence(FEW, Expectation("paper", 0.2, error=0.3, seeds=1000, rounding=0.1))
    assert rounded.interval(0.05)[0] == pytest.approx(many.interval(0.05)[0] - 0.1)
    assert rounded.p > many.p


def test_a_diverged_run_is_the_most_extreme_value():
    values = np.array([0.6, 0.7, 0.8, 0.9, 1.0, 1.1, math.inf])
    found = evidence(values, ABOVE)
    assert found.p == pytest.approx(2 / 2**7)
    assert (found.estimate, found.infinite, found.side) == (0.9, 1, 1)
    low, high = found.interval(0.05)
    assert (0.6 <= low <= 0.7, high) == (True, math.inf)
    assert math.isnan(found.p_t)
    against = evidence(np.append(values[:-1], -math.inf), ABOVE)
    ranks = stats.wilcoxon([1, 2, 3, 4, 5, 6, -7], method="exact").pvalue
    assert against.p == pytest.approx(ranks)
    assert ranks > 0.05
    all_lost = evidence(np.full(8, math.inf), Expectation("above", 0, 1))
    assert (all_lost.p, all_lost.side, all_lost.p_equivalent) == (2 / 2**8, 1, 1)
    assert all_lost.obstacle == ""


@cases(
    "values, obstacle",
    ([], "too few seeds: 0 seeds"),
    ([1], "too few seeds: 1 seed;"),
    ([1, 2, math.nan], "too few seeds: 2 seeds"),
    ([1, 1, 1], "all 3 seeds have the same value, and a test of signs takes 6"),
    ([0.1 + 0.2, 0.3, 0.3], "all 3 seeds have the same value"),
    ([1, 2, 3, 4, math.inf], "too few seeds: the number is infinite in 1 of 5"),
)
def test_what_decides_nothing(values, obstacle):
    assert evidence(np.array(values, dtype=float), ABOVE).obstacle.startswith(obstacle)


@pytest.mark.parametrize("count", [6, 7, 12])
def test_equal_values_are_decided_by_their_signs(count):
    found = evidence(np.full(count, 0.1 + 0.2), Expectation("above", 0, 0.1))
    assert found.obstacle == ""
    assert (found.p, found.side, found.p_equivalent) == (2 / 2**count, 1, 1)
    assert (found.p_sign_flip, found.spread) == (found.p, 0)
    assert math.isnan(found.p_t)
    same = evidence(np.full(count, 0.1 + 0.2), Expectation("above", 0.3, 0.1))
    assert (same.p, same.p_equivalent) == (1, 1 / 2**count)  # 0.1 + 0.2 is 0.3
    assert evidence(np.full(count, 2.0), Expectation("paper", 0)).p == 0


def fieller(part, whole):
    """The roots θ of |mean(part − θ whole)| = t · its standard error (Fieller 1954)."""
    n = len(part)
    t = stats.t.ppf(0.975, n - 1)
    a, b = part.mean(), whole.mean()
    (aa, ab), (_, bb) = np.cov(part, whole) * t**2 / n
    return np.sort(np.roots([b**2 - bb, -2 * (a * b - ab), a**2 - aa]))


def test_a_ratio_of_means_has_its_own_test_and_interval():
    stream = np.random.default_rng(5)
    whole = stream.normal(2, 1, 7)
    part = 0.6 * whole + stream.normal(0, 0.3, 7)
    found = evidence(np.stack([part, whole], 1), Expectation("below", 1, 0.1))
    assert found.estimate == pytest.approx(part.sum() / whole.sum())
    assert found.interval(0.05) == pytest.approx(fieller(part, whole), rel=1e-3)
    assert found.p == pytest.approx(stats.ttest_1samp(part - whole, 0).pvalue)
    upper = stats.ttest_1samp(part - 1.1 * whole, 0, alternative="less").pvalue
    lower = stats.ttest_1samp(part - 0.9 * whole, 0, alternative="greater").pvalue
    assert found.p_equivalent == pytest.approx(max(upper, lower))


def test_the_interval_of_a_ratio_is_what_the_sign_flip_test_does_not_reject():
    stream = np.random.default_rng(6)
    whole = stream.normal(1, 0.8, 12)
    part = 0.5 * whole + stream.normal(0, 0.3, 12)
    found = evidence(np.stack([part, whole], 1), Expectation("below", 1))

    def p(theta):
        off = part - theta * whole
        signs = np.array(np.meshgrid(*[[-1, 1]] * 12)).reshape(12, -1)
        return np.mean(np.abs(signs.T @ np.abs(off)) >= abs(off.sum()) - 1e-9)

    assert found.p == pytest.approx(p(1))
    for end, way in zip(found.interval(0.05), (-1, 1), strict=True):
        assert p(end - 0.002 * way) > 0.05 >= p(end + 0.002 * way)


def test_a_diverged_run_counts_in_a_ratio():
    both = np.array([[1.0, 2.0]] * 8)
    both[:, 0] += np.arange(8) / 10
    both[:6, 0] = math.inf
    found = evidence(both, Expectation("below", 1, 0.05))
    assert (found.infinite, found.side) == (6, 1)
    both[:, 0], both[:6, 1] = 1.0, math.inf
    found = evidence(both, Expectation("below", 1, 0.05))
    assert (found.infinite, found.side, found.p) == (6, -1, 2 / 2**8)
    assert found.estimate == 0


def test_the_estimate_of_a_ratio_with_diverged_runs_is_what_the_test_looks_at():
    stream = np.random.default_rng(3)
    both = np.stack([stream.normal(2, 0.3, 9), stream.normal(3, 0.3, 9)], 1)
    both[2, 0] = both[5, 1] = math.inf
    found = evidence(both, Expectation("below", 1))
    assert np.median(both[:, 0] - found.estimate * both[:, 1]) == pytest.approx(0, abs=1e-12)
    low, high = found.interval(0.05)
    assert low < found.estimate < high == math.inf  # nine ranks bear no more
    both[0, 1] = -0.1
    assert math.isnan(evidence(both, Expectation("below", 1)).estimate)


def test_ranks_that_differ_by_rounding_are_ties():
    values = np.array([0.1 + 0.2, -0.3, 0.3, 1.0, math.inf])
    assert signed_ranks(values).tolist() == [2, -2, 2, 4, 5]


@pytest.mark.parametrize("expectation", TESTS, ids=str)
@pytest.mark.parametrize("count", [3, 5, 8, 12, 25])
def test_the_interval_has_what_the_test_does_not_reject(count, expectation):
    """At any level: of a plain sample, one with ties, with a diverged run, and of a ratio."""
    stream = np.random.default_rng(count)
    for case in range(12):
        values = stream.normal(0.4, 1, count) if case % 2 else stream.integers(-1, 3, count) * 1.0
        if case % 4 == 3:
            values[0] = math.inf
        if case % 6 == 5:
            values = np.stack([values, stream.normal(2, 0.3, count)], 1)
        level = float(stream.choice([0.2, 0.05, 0.01, 0.002]))
        found = evidence(values, expectation, 2000)
        if found.obstacle:
            continue
        low, high = found.interval(level)
        edge = expectation.margin or 0.0
        if expectation.directed:
            assert (low <= expectation.value <= high) == (found.p > level)
        else:
            outside = low > expectation.value + edge or high < expectation.value - edge
            assert outside == (found.p <= level)
        if edge:
            within = expectation.value - edge < low <= high < expectation.value + edge
            assert within == (found.p_equivalent <= level / 2)


@pytest.mark.parametrize(("values", "mean", "std"), [([4.0], 4, math.nan), ([1.0, 3.0], 2, 2**0.5)])
def test_fewer_than_three_seeds_have_no_interval(values, mean, std):
    found = estimate(np.array(values))
    assert found.mean == mean
    assert found.std == pytest.approx(std, nan_ok=True)
    assert math.isnan(found.half_width)


def test_many_values_are_sampled_with_a_fixed_stream():
    values = np.random.default_rng(0).normal(0.4, 1, 17)
    exact, sampled, again = (SignFlips(values, np.ones(17), n) for n in (DRAWS, 2**16, 2**16))
    exact, sampled = exact.tail(0.0, 1), sampled.tail(0.0, 1)
    assert sampled == again.tail(0.0, 1) != exact
    assert sampled == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 2**16))
