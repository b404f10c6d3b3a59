"""The ledger as printed."""

import math

import pytest
from made_up_page import row

from verdicts import render as board

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
