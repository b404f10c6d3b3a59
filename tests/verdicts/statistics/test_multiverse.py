"""Verdicts over universes."""

import numpy as np
import pandas as pd
import pytest
from cases import cases
from scipy import special
from scipy.stats import binomtest, wilcoxon

from verdicts.statistics import multiverse
from verdicts.statistics.evidence import Expectation
from verdicts.statistics.judgement import judge_multiverses
from verdicts.statistics.setting_rules import find_rule

ABOVE = Expectation("above", 0, 1)
STREAM = np.random.default_rng(3)


def evidence(effects, expectation=ABOVE, skipped=0):
    """Of universes with these effects, and two settings; the first ``skipped`` do not count."""
    count = len(effects)
    settings = {"gamma": np.arange(count) / count, "p": np.arange(count) * 7 % count / count}
    counting = pd.DataFrame({**settings, "effect": effects})[skipped:]
    return multiverse.examined(counting["effect"], counting[["gamma", "p"]], count, expectation)


def verdict(effects, expectation=ABOVE, skipped=0):
    return judge_multiverses([evidence(effects, expectation, skipped)])[0]


def mixed(count, beyond, other=0.0):
    """``beyond`` effects of 3, spread evenly, and others."""
    found = np.full(count, other)
    found[(np.arange(beyond) * count / beyond).astype(int)] = 3.0
    return found


@cases(
    "effects, expectation, expected",
    (mixed(200, 187), ABOVE, "robust"),
    (mixed(200, 187), Expectation("above", 5, 1), "reversed"),
    (mixed(200, 13), ABOVE, "no effect"),
    (mixed(200, 13), Expectation("above", 0), "undecided"),  # no margin, no "no effect"
    (mixed(200, 170), ABOVE, "mostly holds"),
    (-mixed(200, 170), ABOVE, "mostly reversed"),
    (mixed(200, 100), ABOVE, "undecided"),
    (mixed(200, 100, -3.0), ABOVE, "mixed"),
    (mixed(200, 60, -3.0), ABOVE, "mostly reversed"),
    (mixed(60, 5, -3.0), ABOVE, "reversed"),
    (mixed(60, 55), ABOVE, "robust"),
    (mixed(60, 54), ABOVE, "mostly holds"),
    (mixed(20, 20), ABOVE, "robust"),
    (mixed(19, 19), ABOVE, "undecided"),
    (np.where(np.arange(200) < 90, 3.0, -3.0), ABOVE, "depends"),
    (np.where(np.arange(200) < 60, -3.0, 0.0), ABOVE, "depends"),
    (np.where(np.arange(200) < 190, np.inf, -1.0), ABOVE, "robust"),
)
def test_verdicts(effects, expectation, expected):
    assert verdict(effects, expectation).verdict == expected


@cases(
    "effects, reason",
    (mixed(200, 187), "holds beyond the margin in 187 of 200 universes (94 %, interval 88 to "
    "97 %), the opposite in 0 (0 %, interval 0 to 2 %), over all p < 0.001"),
    (mixed(12, 12), "too few universes: a verdict takes 20; holds beyond the margin in 12 of "),
    (np.where(np.arange(200) < 60, -3.0, 0.0), "on γ: reversed where γ ≤ 0.3 (right in "),
)  # fmt: skip
def test_the_sentence(effects, reason):
    assert verdict(effects).reason.startswith(reason)


def test_the_numbers_of_a_multiverse():
    judged = verdict(np.where(np.arange(200) < 60, 3.0, -3.0), skipped=20)
    found = judged.multiverse
    assert (found.count, found.of) == (180, 200)
    assert (found.holds, found.reversed, found.within) == (40, 140, 0)
    assert found.share == pytest.approx(40 / 180)
    assert found.low < found.share < found.high
    assert (found.rule, found.rule_settings, found.rule_of) == ("γ ≤ 0.31", ("gamma",), "holds")
    assert found.variance["gamma"] > 0.7 > 0.1 > found.variance["p"]
    assert "20 more do not count" in judged.reason
    assert (judged.evidence.estimate, judged.evidence.pairs) == (-3, 180)


def test_a_rule_is_adjusted_too_and_the_opposite_is_asked_if_it_is_more_frequent():
    effects = np.where(np.arange(24) < 12, 3.0, -3.0) * np.where(np.arange(24) % 12 == 5, -1, 1)
    one = evidence(effects)
    assert 0.001 < one.rule.p < 0.05
    assert judge_multiverses([one])[0].verdict == "depends"
    found = judge_multiverses([one] * 50)[0]
    assert (found.verdict, found.multiverse.rule) == ("mixed", "")
    spread = np.random.default_rng(0).permutation([3.0] * 45 + [0.0] * 45)
    found = evidence(np.concatenate([np.full(110, -3.0), spread])).multiverse
    assert (found.holds, found.reversed) == (45, 110)
    assert (found.rule, found.rule_of, found.rule_accuracy) == ("γ ≤ 0.53", "reversed", 0.985)
    less = evidence(np.concatenate([np.full(40, -3.0), spread, np.zeros(70)])).multiverse
    assert (less.reversed, less.rule, less.rule_of) == (40, "", "holds")


@pytest.mark.parametrize(("number", "count"), [(0, 5), (187, 200), (60, 60), (1, 2)])
def test_the_interval_is_clopper_and_pearsons(number, count):
    low, high = binomtest(number, count).proportion_ci(0.975, method="exact")
    assert multiverse.share_interval(number, count) == pytest.approx((low, high))


def test_sides_of_the_margin():
    effects = pd.Series([-2, -1, 0, 1, 2, np.inf, -np.inf])
    above = multiverse.sides(effects, Expectation("above", 0, 1))
    assert above.tolist() == [-1, 0, 0, 0, 1, 1, -1]
    assert (multiverse.sides(effects, Expectation("below", 0, 1)) == -above).all()
    assert multiverse.sides(effects, Expectation("above", 1)).tolist() == [-1, -1, -1, 0, 1, 1, -1]


def test_an_effect_at_the_margin_is_not_beyond_it():
    """In points of 1,000 samples, 100 · 0.512 − 100 · 0.507 is 0.5, and not in floats."""
    for margin in (0.2, 0.5):
        ours = np.arange(1000)
        effects = pd.Series(100 * ((ours + 10 * margin) / 1000) - 100 * (ours / 1000))
        assert (effects > margin).any()
        assert (multiverse.sides(effects, Expectation("above", 0, margin)) == 0).all()
        assert (multiverse.sides(-effects, Expectation("above", 0, margin)) == 0).all()
        assert (multiverse.sides(effects + 0.1, Expectation("above", 0, margin)) == 1).all()


@pytest.mark.parametrize("shift", [0.0, 0.4, -1.0])
def test_the_test_of_all_is_that_of_signed_ranks(shift):
    effects = STREAM.standard_t(2, 60) + shift
    exact = wilcoxon(effects, method="exact").pvalue
    assert multiverse.p_of_all(effects) == pytest.approx(exact, abs=0.01)
    assert multiverse.p_of_all(-effects) == pytest.approx(multiverse.p_of_all(effects))


def test_shares_of_variance():
    count = 500
    settings = pd.DataFrame({"decides": STREAM.random(count), "idle": STREAM.random(count)})
    settings["kind"] = STREAM.choice(["a", "b"], count)
    effects = 4 * (settings["decides"] > 0.6) + 2 * (settings["kind"] == "a")
    effects += 0.1 * STREAM.standard_normal(count)
    shares = multiverse.variance_shares(effects.to_numpy(), settings)
    assert shares["decides"] > shares["kind"] > 0.1
    assert 0 <= shares["idle"] < 0.03
    assert 0.7 < sum(shares.values()) < 1.05


def test_idle_settings_explain_nothing_on_average():
    """Without the correction, five bins of 40 universes would explain a tenth."""
    idle = [pd.DataFrame({"idle": STREAM.random(40)}) for _ in range(200)]
    draws = [multiverse.variance_shares(STREAM.standard_normal(40), each)["idle"] for each in idle]
    assert np.mean(np.array(draws) == 0) > 0.4
    assert np.mean(draws) < 0.05


def test_shares_by_two_settings_are_cut_where_the_rule_cuts():
    settings = pd.DataFrame({"gamma": [0.1, 0.2, 0.4, 0.5] * 10, "graph": ["a"] * 20 + ["b"] * 20})
    side = np.where(settings["gamma"] <= 0.2, 1, -1)
    rule = find_rule(side == 1, settings)
    table = pd.DataFrame(multiverse.shares_by(side, settings, ["gamma", "graph"], rule))
    cells = [f"γ {end} and graph is {graph}" for end in ("> 0.2", "≤ 0.2") for graph in "ab"]
    assert table["where"].to_list() == cells
    assert table["count"].to_list() == [10] * 4
    assert table["holds"].to_list() == [0, 0, 1, 1]
    assert tuple(table.loc[3, ["holds_low", "holds_high"]]) == multiverse.share_interval(10, 10)
    halves = multiverse.shares_by(side, settings, ["gamma"])
    assert [cell["where"] for cell in halves] == ["γ > 0.3", "γ ≤ 0.3"]


def test_a_share_of_correlated_universes_says_less():
    most = multiverse.tolerated(90, 134)
    fewer = 134 / (1 + 133 * most)
    assert 0 < most < 0.05
    assert multiverse.share_interval(90, 134)[0] > 0.5
    low = special.betaincinv(fewer * 90 / 134, fewer * 44 / 134 + 1, 0.0125)
    assert low == pytest.approx(0.5, abs=1e-3)
