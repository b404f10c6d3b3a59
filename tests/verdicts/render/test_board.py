"""The ledger as printed."""

import math

import pytest
from made_up_page import row

from verdicts.render import board

FOUND = {
    "says": "A > B", "estimate": 2.345, "low": 1.845, "high": 2.845, "margin": math.nan,
    "p_adjusted": 0.01234, "p_equivalent_adjusted": 0.9, "detectable": 0.678, "seeds_needed": 5.0,
    "shows": "table1",
}  # fmt: skip


def printed(**changes):
    return board.print_board([row("a", **{**FOUND, **changes})]).iloc[0]


def test_a_claim_is_a_line():
    assert printed().to_dict() == {
        "Claim": "a", "Place": "Table 1", "Statement": "A > B", "Verdict": "holds",
        "Expected": "above 0", "Measured": "2.35 points", "95 % interval": "1.84 to 2.85",
        "n": "20", "p": "0.012", "Smallest effect": "0.678", "Seeds needed": "5", "Reason": "–",
        "Shown in": "table1",
    }  # fmt: skip


def test_a_claim_that_is_judged_by_cases_shows_the_hardest():
    case = {"hardest": "n = 2", "hardest_measured": 2.0, "hardest_limit": 1.0}
    assert printed(**case)["Reason"] == "hardest: n = 2, 2 for a limit of 1 (ratio 2)"
    assert printed(**case, reason="not met").Reason.startswith("not met; hardest: n = 2")
    assert printed(mark="trivial", mark_reason="a copy")["Reason"] == "trivial: a copy"


@pytest.mark.parametrize(
    ("changes", "measured", "interval"),
    [
        ({"estimate": -2.345, "low": -12.345, "high": 7.655}, "−2.35 points", "−12.3 to 7.66"),
        ({"low": math.nan, "high": math.nan}, "2.35 points", "–"),
        ({"estimate": math.nan, "low": math.nan}, "–", "–"),
        ({"infinite": 1.0, "high": math.inf}, "2.35 points", "1.84 to ∞"),
        ({"met": 3.0, "cases": 4.0, "low": math.nan}, "met in 3 of 4 cases", "–"),
    ],
)
def test_what_was_measured(changes, measured, interval):
    line = printed(**changes)
    assert (line["Measured"], line["95 % interval"]) == (measured, interval)


@pytest.mark.parametrize(
    ("changes", "p"),
    [
        ({"p_adjusted": 0.0001}, "< 0.001"),
        ({"verdict": "equivalent", "p_equivalent_adjusted": 0.02}, "0.020"),
        ({"relation": "near", "margin": 1.0, "p_equivalent_adjusted": 0.02}, "0.020"),
        ({"relation": "near", "margin": 1.0, "verdict": "fails"}, "0.012"),
        ({"p_adjusted": math.nan}, "–"),
    ],
)
def test_the_p_value_that_decided(changes, p):
    assert printed(**changes)["p"] == p


def test_too_many_seeds():
    assert printed(seeds_needed=math.inf)["Seeds needed"] == "> 10,000"


def test_cells_are_lines_apart():
    rows = [row("a"), row("a", cell="x", verdict="fails"), row("b", verdict="not run")]
    cells = board.print_board(rows, cells=True)
    assert cells[["Claim", "Cell", "Verdict"]].to_numpy().tolist() == [["a", "x", "fails"]]
    assert len(board.print_board(rows)) == 2
