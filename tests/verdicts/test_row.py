"""Rows of verdicts: how they are printed, written and read."""

import math

import pandas as pd
import pytest
from made_up_page import EMPTY, NAN, ROWS, row

from verdicts.registry import UserError
from verdicts.row import as_table, number, read_rows


@pytest.mark.parametrize(
    ("value", "printed"),
    [(4.126, "4.13"), (-0.5, "−0.5"), (12345.6, "12346"), (0.0001234, "0.000123"), (NAN, "–"),
     (1.25e-9, "1.25 · 10^−9"), (3e7, "3 · 10^7"), (-float("inf"), "−∞"), (0, "0")],
)  # fmt: skip
def test_three_digits(value, printed):
    assert number(value) == printed


def test_an_interval_needs_three_seeds_and_a_width():
    assert row("a").interval == "2.25 to 6"
    assert row("a", pairs=3).interval == "2.25 to 6"
    for values in ({"pairs": 2}, {"pairs": NAN}, {"low": NAN}, {"low": 6.0}):
        assert row("a", **values).interval == "–"


def test_cases_are_counted_and_ratios_are_factors_too():
    cases = row("a", **EMPTY, met=204, cases=400)
    assert (cases.measured, cases.counted, cases.interval) == (
        "met in 204 of 400 cases", "400", "–"
    )  # fmt: skip
    assert row("a").measured == "4.12 points"
    assert row("a").counted == "20"
    ratio = row("a", estimate=-0.6931, unit="log ratio")
    assert ratio.measured == "−0.693 log ratio (a factor of 0.5)"
    absent = row("a", **EMPTY)
    assert (absent.measured, absent.counted) == ("–", "–")


def test_a_number_that_is_rounding_beside_its_interval_is_zero():
    assert row("a", estimate=-1.4e-15, low=-0.8, high=0.8).measured == "0 points"
    assert row("a", estimate=1e-15, low=0.9e-15, high=1.1e-15).measured == "1 · 10^−15 points"
    assert row("a", estimate=1e-15, low=NAN, high=NAN).measured == "1 · 10^−15 points"
    assert row("a", estimate=4.5, low=1.5, high=math.inf).measured == "4.5 points"


def test_the_hardest_case_is_printed_with_its_limit_and_their_ratio():
    hard = row("a", **EMPTY, hardest="n = 2", hardest_measured=0.5, hardest_limit=0.25)
    assert hard.hardest_case == "hardest: n = 2, 0.5 for a limit of 0.25 (ratio 2)"
    zero = row("a", hardest="n = 2", hardest_measured=0.5, hardest_limit=0.0)
    assert zero.hardest_case == "hardest: n = 2, 0.5 for a limit of 0 (ratio –)"
    assert row("a").hardest_case == ""


def test_an_undecided_claim_says_what_would_decide_it():
    *_, undecided = ROWS
    assert undecided.why == (
        "the difference from 0 is not significant; these seeds show a difference of 2.5 log ratio "
        "with a power of 80 %; 44 seeds would decide it, if what was measured is true"
    )
    assert row("a").why == ""
    endless = row("a", verdict="undecided", seeds_needed=float("inf"))
    assert "over 10,000 seeds" in endless.why


def test_a_mark_is_told_after_the_reason():
    marked = row("a", mark="circular", mark_reason="fitted to it", reason="not met in n = 2")
    assert marked.why == "not met in n = 2; circular: fitted to it"


def test_a_real_effect_below_the_margin_is_told_after_the_verdict():
    both = row("a", below_margin=True)
    assert both.verdict + both.also == "holds, and the effect is smaller than the margin"
    assert row("a").also == ""


def test_a_statement_starts_with_a_capital_letter():
    assert row("a", says="the ring").statement == "The ring"
    assert row("a", says="a ring").statement == "A ring"
    for says in ("iid MNIST: x", "p = 1 is last"):
        assert row("a", says=says).statement == says


def test_what_is_written_is_read_with_every_digit(tmp_path):
    rows = [*ROWS, row("a", mark="trivial", mark_reason="a copy", says="")]
    as_table(rows).to_csv(tmp_path / "claims.csv", index=False)
    for read, written in zip(read_rows(tmp_path / "claims.csv"), rows, strict=True):
        pd.testing.assert_series_equal(pd.Series(vars(read)), pd.Series(vars(written)))


def test_an_expectation_is_put_together_again():
    assert str(row("a").expectation) == "above 0; margin 0.5"
    assert str(row("a", relation="near", margin=2.0).expectation) == "near 0 ± 2"
    assert row("a", relation="").expectation is None


def test_a_wrong_table_is_refused_in_one_line(tmp_path):
    with pytest.raises(UserError, match=r"claims: '.*absent.csv' does not exist"):
        read_rows(tmp_path / "absent.csv")
    table = as_table(ROWS).astype(object)
    for column in ("estimate", "cases", "looks"):
        table.assign(**{column: "many"}).to_csv(tmp_path / "a.csv", index=False)
        with pytest.raises(UserError, match="can't be read: [^\n]*'?many'?"):
            read_rows(tmp_path / "a.csv")
    table = pd.DataFrame([vars(ROWS[0])])
    table.drop(columns="shows").to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(UserError, match="has no column 'shows'"):
        read_rows(tmp_path / "a.csv")
    table.assign(verdict="hold").to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(UserError, match="verdict of order: 'hold' is unknown; .*'holds'"):
        read_rows(tmp_path / "a.csv")


def test_looks_are_said_with_the_seeds(tmp_path):
    assert row("a").seeds == "20 seeds"
    assert row("a", pairs=1.0).seeds == "1 seed"
    assert row("a", **EMPTY).seeds == row("a", **EMPTY, cases=3.0).seeds == ""
    looked = [row("a", looks=2), row("b", looks=1, next_look=40), row("c")]
    assert [each.seeds for each in looked[:2]] == ["20 seeds in 2 looks", "20 seeds in 1 look"]
    assert looked[0].counted == "20 in 2 looks"
    as_table(looked).to_csv(tmp_path / "claims.csv", index=False)
    read = read_rows(tmp_path / "claims.csv")
    assert [(each.looks, each.next_look) for each in read] == [(2, None), (1, 40), (None, None)]
