"""Rows of verdicts: how they are printed, written and read."""

import math

import pandas as pd
import pytest
from made_up_page import NAN, ROWS, row

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


def test_a_number_that_is_rounding_beside_its_interval_is_zero():
    assert row("a", estimate=-1.4e-15, low=-0.8, high=0.8).measured == "0 points"
    assert row("a", estimate=1e-15, low=0.9e-15, high=1.1e-15).measured == "1 · 10^−15 points"
    assert row("a", estimate=1e-15, low=NAN, high=NAN).measured == "1 · 10^−15 points"
    assert row("a", estimate=4.5, low=1.5, high=math.inf).measured == "4.5 points"


def test_what_is_written_is_read_with_every_digit(tmp_path):
    rows = [*ROWS, row("a", mark="trivial", mark_reason="a copy", says="")]
    as_table(rows).to_csv(tmp_path / "claims.csv", index=False)
    for read, written in zip(read_rows(tmp_path / "claims.csv"), rows, strict=True):
        pd.testing.assert_series_equal(pd.Series(vars(read)), pd.Series(vars(written)))


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
