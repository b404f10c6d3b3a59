"""The effects of universes."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, wilcoxon

from verdicts.statistics.expectation import Expectation
from verdicts.statistics.multiverse import p_of_all, share_interval, sides, variance_shares

STREAM = np.random.default_rng(3)


@pytest.mark.parametrize(("number", "count"), [(0, 5), (187, 200), (60, 60), (1, 2)])
def test_the_interval_is_clopper_and_pearsons(number, count):
    low, high = binomtest(number, count).proportion_ci(method="exact")
    assert share_interval(number, count) == pytest.approx((low, high))


def test_sides_of_the_margin():
    effects = pd.Series([-2, -1, 0, 1, 2, np.inf, -np.inf])
    above = sides(effects, Expectation("above", 0, 1))
    assert above.tolist() == [-1, 0, 0, 0, 1, 1, -1]
    assert (sides(effects, Expectation("below", 0, 1)) == -above).all()
    assert sides(effects, Expectation("above", 1)).tolist() == [-1, -1, -1, 0, 1, 1, -1]


def test_an_effect_at_the_margin_is_not_beyond_it():
    """In points of 1,000 samples, 100 · 0.512 − 100 · 0.507 is 0.5, and not in floats."""
    for margin in (0.2, 0.5):
        ours = np.arange(1000)
        effects = pd.Series(100 * ((ours + 10 * margin) / 1000) - 100 * (ours / 1000))
        assert (effects > margin).any()
        assert (sides(effects, Expectation("above", 0, margin)) == 0).all()
        assert (sides(-effects, Expectation("above", 0, margin)) == 0).all()
        assert (sides(effects + 0.1, Expectation("above", 0, margin)) == 1).all()


@pytest.mark.parametrize("shift", [0.0, 0.4, -1.0])
def test_the_test_of_all_is_that_of_signed_ranks(shift):
    effects = STREAM.standard_t(2, 60) + shift
    exact = wilcoxon(effects, method="exact").pvalue
    assert p_of_all(effects) == pytest.approx(exact, abs=0.01)
    assert p_of_all(-effects) == pytest.approx(p_of_all(effects))


def test_infinite_effects_rank_last_and_zeros_say_nothing():
    effects = np.array([1.0, 2, 3, np.inf] * 5)
    assert p_of_all(effects) < 0.001
    assert p_of_all(np.array([np.inf, -np.inf])) == 1
    assert math.isnan(p_of_all(np.zeros(20)))


def test_shares_of_variance():
    count = 500
    settings = pd.DataFrame(
        {
            "decides": STREAM.random(count),
            "kind": STREAM.choice(["a", "b"], count),
            "idle": STREAM.random(count),
        }
    )
    effects = 4 * (settings["decides"] > 0.6) + 2 * (settings["kind"] == "a")
    shares = variance_shares((effects + 0.1 * STREAM.standard_normal(count)).to_numpy(), settings)
    assert shares["decides"] > shares["kind"] > 0.1
    assert 0 <= shares["idle"] < 0.03
    assert 0.7 < sum(shares.values()) < 1.05


def test_idle_settings_explain_nothing_on_average():
    """Without the correction, five bins of 40 universes would explain a tenth."""
    draws = []
    for _ in range(200):
        settings = pd.DataFrame({"idle": STREAM.random(40)})
        draws.append(variance_shares(STREAM.standard_normal(40), settings)["idle"])
    assert np.mean(np.array(draws) == 0) > 0.4
    assert np.mean(draws) < 0.05
