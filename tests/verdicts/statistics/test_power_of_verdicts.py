"""What a number of seeds can show."""

import math

import numpy as np
import pytest

from verdicts.statistics import power
from verdicts.statistics.evidence import evidence
from verdicts.statistics.expectation import Expectation


def of(values, relation="above", value=0.0, margin=None):
    return evidence(np.asarray(values, dtype=float), Expectation(relation, value, margin))


def shifted(mean, count=10):
    """Values with this mean and the standard deviation 1."""
    noise = np.random.default_rng(count).normal(size=count)
    return mean + (noise - noise.mean()) / noise.std(ddof=1)


def simulated(effect, count, runs=4000):
    """How often the t test finds an effect."""
    values = np.random.default_rng(1).normal(effect, 1, (runs, count))
    t = values.mean(axis=1) / values.std(axis=1, ddof=1) * math.sqrt(count)
    from scipy.stats import t as student

    return np.mean(np.abs(t) > student.ppf(0.975, count - 1))


@pytest.mark.parametrize("count", [3, 5, 10, 20])
def test_the_smallest_effect_is_found_four_times_of_five(count):
    effect = power.detectable(of(shifted(0.2, count)))
    assert simulated(effect, count) == pytest.approx(0.8, abs=0.025)


def test_a_family_and_a_margin_take_a_larger_effect():
    alone = power.detectable(of(shifted(0)))
    assert power.detectable(of(shifted(0)), 10) > 1.3 * alone
    near = power.detectable(of(shifted(0), "near", margin=2))
    assert near == pytest.approx(2 + alone, rel=1e-4)
    assert power.detectable(of(shifted(0), "paper", margin=2)) > near
    assert power.detectable(of(10 * shifted(0))) == pytest.approx(10 * alone, rel=1e-4)


def test_the_seeds_that_an_effect_takes():
    # Cohen's tables: a medium effect of 0.5 takes 34 pairs, a large one of 0.8 takes 15.
    assert power.seeds_needed(of(shifted(0.5))) == 34
    assert power.seeds_needed(of(shifted(0.8))) == 15
    assert power.seeds_needed(of(shifted(0.8)), 10) > 20
    assert power.seeds_needed(of(shifted(0))) == math.inf
    assert power.seeds_needed(of(shifted(50))) == 3


def test_the_seeds_that_an_equivalence_takes():
    count = power.seeds_needed(of(shifted(0), "near", margin=0.5))
    assert power.equivalence_power(0, 0.5, int(count)) >= 0.8
    assert power.equivalence_power(0, 0.5, int(count) - 1) < 0.8
    assert power.seeds_needed(of(shifted(0), margin=0.5)) == count
    assert power.seeds_needed(of(shifted(1.5), "near", margin=1)) == 34
    assert power.seeds_needed(of(shifted(9), "paper", margin=1)) < 10
    assert power.seeds_needed(of(shifted(1.5), "paper", margin=1)) == math.inf


@pytest.mark.parametrize("values", [[], [1], [1, 2], [1, 1, 1], [1, 2, math.inf]])
def test_without_a_spread_nothing_is_known(values):
    assert math.isnan(power.detectable(of(values)))
    assert math.isnan(power.seeds_needed(of(values)))
