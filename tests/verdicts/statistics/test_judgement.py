"""From evidence to verdicts."""

import numpy as np
import pandas as pd
import pytest

from verdicts.statistics.evidence import Expectation, evidence
from verdicts.statistics.judgement import Verdict, judge, judge_cases, judge_every, judge_exact

NOISE = np.array([-1.2, -0.5, 0.1, 0.4, 1.2])


def verdict(mean, relation, value=0.0, margin=None, *, scale=1.0):
    expectation = Expectation(relation, value, margin)
    return judge([evidence(mean + scale * NOISE, expectation)])[0].verdict


@pytest.mark.parametrize(
    ("mean", "relation", "margin", "scale", "expected"),
    [
        (3, "above", None, 1, "holds"),
        (3, "below", None, 1, "fails"),
        (-3, "above", None, 1, "fails"),
        (-3, "below", None, 1, "holds"),
        (0.3, "above", None, 1, "undecided"),
        (0.3, "above", 5, 1, "equivalent"),
        (0.3, "above", 0.5, 1, "undecided"),
        (3, "above", 5, 1, "holds"),  # a direction comes first
        (0.3, "near", 5, 1, "holds"),
        (0.3, "near", 0.5, 1, "undecided"),
        (3, "near", 0.5, 1, "fails"),
        (-3, "near", 0.5, 1, "fails"),
        (0.3, "paper", 5, 1, "holds"),
        (3, "paper", 0.5, 1, "undecided"),  # a fails for near: one seed may be that far off
        (3, "paper", 0.5, 0.3, "fails"),
    ],
)
def test_verdicts(mean, relation, margin, scale, expected):
    assert verdict(mean, relation, margin=margin, scale=scale) == expected


@pytest.mark.parametrize(
    ("mean", "relation", "margin", "expected", "below"),
    [
        (3, "above", 5, "holds", True),
        (3, "below", 5, "fails", True),
        (3, "above", 3.2, "holds", False),  # nothing is shown of the margin
        (9, "above", 5, "holds", False),
        (0.3, "above", 5, "equivalent", False),  # no effect is shown
        (3, "above", None, "holds", False),
        (3, "near", 5, "holds", False),
    ],
)
def test_an_effect_may_be_real_and_below_the_margin(mean, relation, margin, expected, below):
    (found,) = judge([evidence(mean + NOISE, Expectation(relation, 0, margin))])
    assert (found.verdict, found.below_margin) == (expected, below)


@pytest.mark.parametrize(
    ("value", "relation", "margin", "expected"),
    [
        (3, "above", None, "holds"), (3, "below", None, "fails"), (-3, "above", None, "fails"),
        (0, "above", None, "fails"), (1e-12, "above", None, "holds"), (3, "above", 5, "equivalent"),
        (5, "above", 5, "equivalent"), (6, "above", 5, "holds"), (-6, "above", 5, "fails"),
        (5, "near", 5, "holds"), (6, "near", 5, "fails"), (6, "paper", 5, "fails"),
    ],
)  # fmt: skip
def test_an_exact_number_is_decided_by_its_value(value, relation, margin, expected):
    found = judge_exact(evidence(np.full(9, value), Expectation(relation, 0, margin)))
    assert found.verdict == expected
    assert np.isnan([found.evidence.p, found.evidence.p_equivalent, found.p_adjusted]).all()


def test_the_family_is_corrected_for_in_both_parts_of_a_verdict():
    close = evidence(2 + NOISE, Expectation("above", 0, 3))
    assert judge([close])[0].below_margin
    far = [evidence(9 + NOISE, Expectation("above", 0, 3))] * 2
    first, *_ = judge([close, *far])
    assert (first.verdict, first.below_margin) == ("holds", False)


def test_the_family_is_corrected_for():
    near_five_percent = evidence(1.3 + NOISE, Expectation("above", 0))
    assert 0.025 < near_five_percent.p < 0.05
    (alone,) = judge([near_five_percent])
    nothing = evidence(0.1 + NOISE, Expectation("above", 0))
    first, _ = judge([near_five_percent, nothing])
    assert (alone.verdict, first.verdict) == ("holds", "undecided")
    assert first.p_adjusted == pytest.approx(2 * near_five_percent.p)
    assert first.reason == "the correction for the family leaves no significant difference"
    assert first.family == 2


def test_reasons_for_no_verdict():
    (few,) = judge([evidence(np.array([1.0, 2.0]), Expectation("above", 0))])
    assert (few.verdict, few.reason) == ("undecided", "too few seeds: 2 seeds; a verdict takes 3")
    (weak,) = judge([evidence(NOISE, Expectation("above", 0))])
    assert weak.reason == "the difference from 0 is not significant"
    (wide,) = judge([evidence(NOISE, Expectation("near", 0, 0.1))])
    assert wide.reason == "neither within nor outside 0 ± 0.1 for sure"


def test_cases_must_all_be_met():
    cases = pd.DataFrame(
        {"case": ["n = 2", "n = 5"], "measured": [0.9, 0.5], "limit": 1, "met": [True, True]}
    )
    hardest = {"hardest": "n = 2", "hardest_measured": 0.9, "hardest_limit": 1.0}
    assert judge_cases(cases) == Verdict("holds", met=2, cases=2, **hardest)
    cases["met"] = [True, False]
    hardest = {"hardest": "n = 5", "hardest_measured": 0.5, "hardest_limit": 1.0}
    reason = "met in 1 of 2 cases; not in n = 5"
    assert judge_cases(cases) == Verdict("fails", reason, met=1, cases=2, **hardest)
    cases["met"] = [True, None]
    assert judge_cases(cases).verdict == "fails"
    assert judge_cases(cases[:0]).verdict == "not run"


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "fails", "not run"], "fails"),
        (["equivalent", "equivalent"], "equivalent"),
        (["holds", "undecided"], "undecided"),
        (["holds", "not run"], "undecided"),
        (["not run", "not run"], "not run"),
    ],
)
def test_a_claim_about_every_cell(cells, expected):
    found = judge_every([Verdict(name, "a reason") for name in cells])
    assert found.verdict == expected
    alike = len({*cells}) == 1
    assert (found.reason == "in all 2 cells") == (alike and expected != "not run")
    assert found.reason
