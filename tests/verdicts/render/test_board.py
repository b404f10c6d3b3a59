"""The ledger as printed."""

import math

import pandas as pd
import pytest

from verdicts.ledger import COLUMNS
from verdicts.render import board


def row(**changes):
    known = {
        "claim": "a", "cell": "", "place": "Table 1", "says": "A > B", "kind": "order",
        "verdict": "holds", "reason": "", "estimate": 2.345, "low": 1.845, "high": 2.845,
        "unit": "points", "expected": "above 0", "p_adjusted": 0.01234,
        "p_equivalent_adjusted": 0.9, "pairs": 20, "infinite": 0, "detectable": 0.678,
        "seeds_needed": 5, "family": "f", "family_size": 1, "shows": "table1",
    }  # fmt: skip
    return {**dict.fromkeys(COLUMNS, math.nan), **known, **changes}


def printed(**changes):
    return board.print_board(pd.DataFrame([row(**changes)])).iloc[0]


def test_a_claim_is_a_line():
    assert printed().to_dict() == {
        "Claim": "a", "Place": "Table 1", "Statement": "A > B", "Verdict": "holds",
        "Expected": "above 0", "Measured": "2.35 ± 0.50 points", "p": "0.012", "Pairs": "20",
        "Smallest effect": "0.678", "Seeds needed": "5", "Reason": "–", "Shown in": "table1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "measured"),
    [
        ({"estimate": -2.345, "low": -12.345, "high": 7.655}, "−2 ± 10 points"),
        ({"estimate": 0.0001, "low": 0.00009, "high": 0.00011}, "0.000100 ± 0.000010 points"),
        ({"low": math.nan, "high": math.nan}, "2.35 points"),
        ({"estimate": math.nan}, "–"),
        ({"infinite": 1, "high": math.inf}, "2.35 (1.84 to ∞) points"),
        ({"met": 3, "cases": 4}, "met in 3 of 4 cases"),
    ],
)
def test_what_was_measured(changes, measured):
    assert printed(**changes)["Measured"] == measured


@pytest.mark.parametrize(
    ("changes", "p"),
    [
        ({"p_adjusted": 0.0001}, "< 0.001"),
        ({"verdict": "equivalent", "p_equivalent_adjusted": 0.02}, "0.020"),
        ({"expected": "near 0 ± 1", "p_equivalent_adjusted": 0.02}, "0.020"),
        ({"expected": "near 0 ± 1", "verdict": "fails"}, "0.012"),
        ({"p_adjusted": math.nan}, "–"),
    ],
)
def test_the_p_value_that_decided(changes, p):
    assert printed(**changes)["p"] == p


def test_too_many_seeds():
    assert printed(seeds_needed=math.inf)["Seeds needed"] == "> 10,000"


def test_claims_are_counted_without_their_cells():
    rows = pd.DataFrame([row(), row(cell="x", verdict="fails"), row(verdict="not run")])
    assert board.counted(rows) == (
        "2 claims. Holds: 1, fails: 0, equivalent: 0, undecided: 0, not run: 1."
    )
    cells = board.print_board(rows, cells=True)
    assert cells[["Claim", "Cell", "Verdict"]].to_numpy().tolist() == [["a", "x", "fails"]]
    assert len(board.print_board(rows)) == 2
