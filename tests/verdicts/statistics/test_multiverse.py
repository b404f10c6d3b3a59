"""Verdicts over universes."""

import math

import numpy as np
import pandas as pd
import pytest

from verdicts.registry import UserError
from verdicts.statistics.expectation import Expectation
from verdicts.statistics.multiverse import examined, judge_multiverses, multiverse_of

ABOVE = Expectation("above", 0, 1)


def evidence(effects, expectation=ABOVE, skipped=0):
    """Of universes with these effects, and two settings; the first ``skipped`` do not count."""
    count = len(effects)
    settings = {"gamma": np.arange(count) / count, "p": np.arange(count) * 7 % count / count}
    counting = pd.DataFrame({**settings, "effect": effects})[skipped:]
    return examined(counting["effect"], counting[["gamma", "p"]], count, expectation)


def verdict(effects, expectation=ABOVE, skipped=0):
    return judge_multiverses([evidence(effects, expectation, skipped)])[0]


def mixed(count, beyond, other=0.0):
    """``beyond`` effects of 3, spread evenly, and others."""
    found = np.full(count, other)
    found[(np.arange(beyond) * count / beyond).astype(int)] = 3.0
    return found


@pytest.mark.parametrize(
    ("effects", "expectation", "expected"),
    [
        (mixed(200, 187), ABOVE, "robust"),
        (mixed(200, 187), Expectation("below", 0, 1), "reversed"),
        (mixed(200, 187), Expectation("above", 5, 1), "reversed"),
        (mixed(200, 13), ABOVE, "no effect"),
        (mixed(200, 13), Expectation("above", 0), "undecided"),  # no margin, no "no effect"
        (mixed(200, 170), ABOVE, "undecided"),
        (mixed(60, 55), ABOVE, "robust"),
        (mixed(60, 54), ABOVE, "undecided"),
        (mixed(20, 20), ABOVE, "robust"),
        (mixed(19, 19), ABOVE, "undecided"),
        (np.where(np.arange(200) < 60, 3.0, -3.0), ABOVE, "depends"),
        (np.where(np.arange(200) < 60, -3.0, 0.0), ABOVE, "depends"),
        (np.where(np.arange(200) < 190, np.inf, -1.0), ABOVE, "robust"),
    ],
)
def test_verdicts(effects, expectation, expected):
    assert verdict(effects, expectation).verdict == expected


@pytest.mark.parametrize(
    ("effects", "reason"),
    [
        (mixed(200, 187), "holds beyond the margin in 187 of 200 universes (94 %, 95 % interval 89 "
         "to 96 %), over all p < 0.001"),
        (-mixed(200, 187), "the opposite holds beyond the margin in 187 of 200 universes (94 %, "),
        (mixed(200, 4), "the effect is within the margin in 196 of 200 universes (98 %, "),
        (mixed(12, 12), "too few universes: a verdict takes 20; holds beyond the margin in 12 of "),
        (mixed(60, 54), "the share's lower limit is below 80 %; holds beyond the margin in 54 of "),
        (mixed(200, 100), "no rule on two settings tells where; holds beyond the margin in 100 "),
        (np.where(np.arange(200) < 60, 3.0, -3.0), "on γ: holds where γ ≤ 0.3 (right in 100 % of "
         "universes, cross-validated); holds beyond the margin in 60 of 200 universes (30 %, 95 % "
         "interval 24 to 37 %), the opposite in 140, over all p < 0.001"),
        (np.where(np.arange(200) < 60, -3.0, 0.0), "on γ: reversed where γ ≤ 0.3 (right in "),
    ],
)  # fmt: skip
def test_the_sentence(effects, reason):
    assert verdict(effects).reason.startswith(reason)


def test_the_numbers_of_a_multiverse():
    judged = verdict(np.where(np.arange(200) < 60, 3.0, -3.0), skipped=20)
    found = judged.multiverse
    assert (found.count, found.of, found.holds, found.reversed, found.within) == (
        180, 200, 40, 140, 0
    )  # fmt: skip
    assert found.share == pytest.approx(40 / 180)
    assert found.low < found.share < found.high
    assert (found.rule, found.rule_settings, found.rule_of) == ("γ ≤ 0.31", ("gamma",), "holds")
    assert found.variance["gamma"] > 0.7 > 0.1 > found.variance["p"]
    assert "20 more do not count" in judged.reason
    assert (judged.evidence.estimate, judged.evidence.pairs) == (-3, 180)


def test_a_family_is_adjusted_together():
    """55 of 60 alone is robust; among claims that are as near the limit, it is not."""
    near = evidence(mixed(60, 55))
    clear = evidence(mixed(60, 60))
    assert judge_multiverses([near])[0].verdict == "robust"
    assert judge_multiverses([near, clear])[0].verdict == "robust"
    several = judge_multiverses([near] * 4)
    assert several[0].verdict == "undecided"
    assert several[0].reason.startswith("the correction for the family leaves no significant")
    assert several[0].family == 4


def test_a_rule_is_adjusted_too():
    effects = np.where(np.arange(24) < 12, 3.0, -3.0) * np.where(np.arange(24) % 12 == 5, -1, 1)
    one = evidence(effects)
    assert 0.001 < one.rule.p < 0.05
    assert judge_multiverses([one])[0].verdict == "depends"
    found = judge_multiverses([one] * 50)[0]
    assert (found.verdict, found.multiverse.rule) == ("undecided", "")


def test_without_a_rule_for_the_claim_its_opposite_is_asked_if_it_is_more_frequent():
    spread = np.random.default_rng(0).permutation([3.0] * 45 + [0.0] * 45)
    found = evidence(np.concatenate([np.full(110, -3.0), spread])).found
    assert (found.holds, found.reversed) == (45, 110)
    assert (found.rule, found.rule_of, found.rule_accuracy) == ("γ ≤ 0.53", "reversed", 0.985)
    less = evidence(np.concatenate([np.full(40, -3.0), spread, np.zeros(70)])).found
    assert (less.reversed, less.rule, less.rule_of) == (40, "", "holds")


def test_what_is_written_is_read():
    found = verdict(mixed(60, 30)).multiverse
    assert multiverse_of("k", found.as_json()) == found or math.isnan(found.rule_accuracy)
    again = multiverse_of("k", found.as_json())
    assert again.as_json() == found.as_json()
    assert isinstance(again.rule_settings, tuple)


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"count": 1}', "[" * 5000])
def test_what_was_not_written_is_refused(text):
    with pytest.raises(UserError, match=r"k: .* is not allowed; it must be as written\."):
        multiverse_of("k", text)
    good = verdict(mixed(60, 30)).multiverse.as_json()
    with pytest.raises(UserError):
        multiverse_of("k", good.replace('"rule": ""', '"rule": 3'))
