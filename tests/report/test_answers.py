"""Answers: a first word that follows from the verdicts, and the numbers of the rows."""

import pytest
from made_up_page import EMPTY, row

from ngo.report.answers import KINDS, answer, finding, first_word
from verdicts.statistics.judgement import NOT_RUN, OVER_UNIVERSES, VERDICTS
from verdicts.statistics.multiverse import Multiverse


def answered(*rows):
    return answer("Is it so?", {each.claim: f"on {each.claim}" for each in rows}, by_id(rows))


def by_id(rows):
    return {each.claim: each for each in rows}


UNDECIDED = {"verdict": "undecided", "estimate": 0.25, "low": -1.0, "high": 1.5}
ABSENT = {"verdict": NOT_RUN, "reason": "no rows", **EMPTY}


@pytest.mark.parametrize(
    ("verdicts", "word"),
    [
        (["holds", "robust"], "Yes"),
        (["fails", "reversed", "equivalent", "no effect"], "No"),
        (["holds", "fails"], "Partly"),
        (["holds", "equivalent", "undecided"], "Partly"),
        (["depends", "holds"], "It depends"),
        (["depends", "fails", "undecided"], "It depends"),
        (["holds", "undecided"], "Yes, where decided"),
        (["fails", "undecided"], "No, where decided"),
        (["undecided"], "Undecided"),
        ([], "Not run"),
    ],
)
def test_the_first_word_follows_from_the_verdicts(verdicts, word):
    assert first_word([KINDS[each] for each in verdicts]) == word
    assert first_word([KINDS[each] for each in reversed(verdicts)]) == word


def test_every_verdict_says_something_but_that_of_a_claim_that_was_not_run():
    assert {*VERDICTS, *OVER_UNIVERSES} - {*KINDS} == {NOT_RUN}


def test_claims_that_disagree_are_told_by_what_they_say():
    found = answered(
        row("A", **UNDECIDED),
        row("B", verdict="fails", estimate=-3.0, low=-4.0, high=-2.0),
        row("C"),
        row("D", verdict="equivalent", estimate=0.1),
    )
    assert found.sentence == (
        "Partly: yes on C by 4.12 points [2.25, 6]; no on B, the other way by 3 points [2, 4]; "
        "on D, no difference beyond 0.5 points; undecided on A, 0.25 points [−1, 1.5]."
    )


def test_what_is_left_out_is_named():
    rows = [row("A"), row("B", mark="trivial"), row("C", **ABSENT), row("D", **ABSENT)]
    found = answer("Is it so?", {name: f"on {name}" for name in "ABCDE"}, by_id(rows))
    assert found.sentence == "Yes: on A by 4.12 points [2.25, 6]."
    assert found.left_out == "Not run: on C; on D. By construction: on B (trivial)."


def test_universes_and_single_settings_have_two_words_where_these_differ():
    over = over_universes("undecided", rule="")
    here, there = row("B"), row("C", verdict="fails", estimate=-3.0, low=-4.0, high=-2.0)
    assert answered(over, here).word == "At the settings of the runs yes; over others undecided"
    assert answered(over, here, there).word.startswith("At the settings of the runs partly; over")
    assert answered(over, here, there).hue == "Partly"
    assert answered(over_universes("robust", rule=""), here).word == "Yes"
    assert answered(over).word == "Undecided"


def test_claims_that_were_not_run_have_one_word_and_unknown_ones_no_answer():
    found = answered(row("A", **ABSENT))
    assert (found.sentence, found.left_out) == ("Not run.", "")
    assert answer("Is it so?", {"A": "there"}, {}) is None


def test_a_logarithm_of_a_ratio_is_told_as_a_factor_in_the_direction_of_the_claim():
    smaller = {"relation": "below", "estimate": -0.6931, "low": -1.3863, "high": 0.0}
    half = row("A", unit="log ratio", **smaller)
    assert finding(half) == " by a factor of 2 [1, 4]"
    other = row("A", unit="log ratio", **{**smaller, "relation": "above"}, verdict="fails")
    assert finding(other) == ", the other way by a factor of 2 [1, 4]"
    endless = row("A", unit="log ratio", estimate=800.0, low=1.0, high=900.0)
    assert finding(endless).startswith(" by a factor of ")


def test_values_cases_and_cells_have_their_own_words():
    near = row("A", relation="near", expected=-1.0, estimate=-1.0, low=-1.04, high=-0.957)
    assert finding(near) == ", −1 points [−1.04, −0.957]"
    counted = {**EMPTY, "relation": "", "cases": 40.0}
    assert finding(row("A", **counted, met=40.0)) == " in all 40 cases"
    assert finding(row("A", **counted, met=3.0, verdict="fails")) == " in only 3 of 40 cases"
    assert finding(row("A", **counted, met=0.0, verdict="fails")) == " in no case"
    cells = row("A", **EMPTY, verdict="fails", reason="of 4 cells: fails in 4")
    assert finding(cells) == " (of 4 cells: fails in 4)"
    assert finding(row("A", **EMPTY)) == ""
    less = row("A", estimate=0.2, low=0.1, high=0.3, below_margin=True)
    assert finding(less) == " by 0.2 points [0.1, 0.3], less than the margin of 0.5"


def over_universes(verdict, rule_of="holds", **values):
    seen = {"count": 200, "of": 256, "holds": 140, "reversed": 50, "within": 10, "share": 0.7}
    seen |= {"low": 0.63, "high": 0.76, "p": 0.001, "rule": "γ ≤ 0.3", "rule_accuracy": 0.88}
    seen |= {"rule_of": rule_of, "rule_settings": ("gamma",), "variance": {"gamma": 0.5}}
    return row("A", verdict=verdict, multiverse=Multiverse(**{**seen, **values}))


def test_a_claim_over_universes_has_its_share_and_its_rule():
    robust = finding(over_universes("robust", rule=""))
    assert robust == " in 70 % of 200 universes [63, 76]"
    said = robust + ", the other way in 25 %"
    told = " (of the variance, γ explains 50 %, lr 10 %)"
    some = {"p": 0.02, "lr": 0.1, "gamma": 0.5}
    undecided = over_universes("undecided", rule="", variance=some)
    assert finding(undecided) == ", as claimed" + said + told
    little = over_universes("undecided", rule="", variance={"gamma": 0.02})
    assert finding(little) == ", as claimed" + said
    rule = " (it holds where γ ≤ 0.3, which is right in 88 %)"
    assert answered(over_universes("depends"), row("B")).sentence == (
        f"At the settings of the runs yes; over others it depends: it depends on A{said}{rule}; "
        "yes on B by 4.12 points [2.25, 6]."
    )
    assert finding(over_universes("depends", "reversed")).endswith(
        "(the other way where γ ≤ 0.3, which is right in 88 %)"
    )
    assert finding(over_universes("reversed", rule="", reversed=190)) == (
        ", the other way in 95 % of 200 universes"
    )
    assert finding(over_universes("no effect", rule="", within=190)) == (
        ", no difference beyond the margin in 95 % of 200 universes"
    )
    assert finding(over_universes("not run", count=0)) == ""
