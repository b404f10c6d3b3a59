"""Rows of verdicts and results: how they are printed, written, read and shown."""

import json
import math
import sys

import pandas as pd
from cases import cases, refused
from made_up_page import NAN, ROWS, row

from verdicts import judgement
from verdicts import report as board
from verdicts.report import Result, as_json, as_page
from verdicts.statistics import number
from verdicts.verdict_rows import ANSWERS, MARKED, as_table, counted, counts, read_rows


@cases(
    "value, printed",
    (4.126, "4.13"), (-0.5, "−0.5"), (12345.6, "12346"), (0.0001234, "0.000123"), (NAN, "–"),
    (1.25e-9, "1.25 · 10⁻⁹"), (3e7, "3 · 10⁷"), (-float("inf"), "−∞"), (0, "0"),
)  # fmt: skip
def test_three_digits(value, printed):
    assert number(value) == printed


def test_what_is_written_is_read_with_every_digit(tmp_path):
    rows = [*ROWS, row("a", mark="trivial", mark_reason="a copy", says="")]
    as_table(rows).to_csv(tmp_path / "claims.csv", index=False)
    for read, written in zip(read_rows(tmp_path / "claims.csv"), rows, strict=True):
        pd.testing.assert_series_equal(pd.Series(vars(read)), pd.Series(vars(written)))


def test_a_wrong_table_is_refused_in_one_line(tmp_path):
    refused(r"claims: '.*absent.csv' does not exist", read_rows, tmp_path / "absent.csv")
    table = as_table(ROWS).astype(object)
    for column, text in (("estimate", "many"), ("looks", "many"), ("multiverse", "[1]")):
        table.assign(**{column: text}).to_csv(tmp_path / "a.csv", index=False)
        refused("can't be read: [^\n]*$", read_rows, tmp_path / "a.csv")
    table = pd.DataFrame([vars(ROWS[0])])
    table.drop(columns="shows").to_csv(tmp_path / "a.csv", index=False)
    refused("has no column 'shows'", read_rows, tmp_path / "a.csv")


def test_verdicts_are_counted_without_cells_and_trivial_and_circular_claims_apart():
    one = dict.fromkeys(("holds", "fails", "equivalent", "undecided", "not run"), 1)
    copy = row("copy", mark="trivial", mark_reason="a copy")
    fit = row("fit", mark="circular", mark_reason="fitted", verdict="fails")
    cell = row("order", cell="ring", verdict="fails")
    assert counts([*ROWS, cell, copy, fit]) == {**one, MARKED: 2}
    assert counts([]) == dict.fromkeys([*one, MARKED], 0)
    said = "Of 5 claims, 1 holds, 2 do not, 1 is undecided, 1 is not run"
    assert counted(counts([*ROWS, copy])).startswith(said)


def test_each_verdict_is_one_of_five_answers():
    every = [verdict for _, verdicts in ANSWERS.values() for verdict in verdicts.split(", ")]
    assert sorted(every) == sorted(judgement.VERDICTS)


@cases(
    "numbers, said",
    ((1.2, -0.136, 2.59), ("1.2 points", "−0.1 to 2.6")),
    ((0.572, 0.205, 0.777), ("0.57 points", "0.20 to 0.78")),
    ((15.06, 14.3, 16.0), ("15.06 points", "14.30 to 16.00")),
    ((41.2, 28.2, 53.7), ("41 points", "28 to 54")),
    ((15394.0, 14230.0, 16630.0), ("15400 points", "14200 to 16600")),
    ((3.21, 1.04, math.inf), ("3.2 points", "above 1.0")),
    ((2.0, 2.0, 2.0), ("2 points", "–")),
    ((1e-18, -0.5, 0.5), ("0.00 points", "−0.50 to 0.50")),
)
def test_a_value_and_its_interval_have_the_same_digits_two_of_them_of_the_half_width(numbers, said):
    estimate, low, high = numbers
    line = board.print_board([row("a", estimate=estimate, low=low, high=high)]).iloc[0]
    assert (line["Measured"], line["Interval"]) == said


@cases(
    "changes, p",
    ({"p_adjusted": 0.0001}, "< 0.001"),
    ({"relation": "near", "margin": 1.0, "p_equivalent_adjusted": 0.02}, "0.020"),
    ({"relation": "near", "margin": 1.0, "verdict": "fails"}, "0.012"),
    ({"p_adjusted": math.nan}, "–"),
)
def test_the_p_value_that_decided(changes, p):
    changed = {"p_adjusted": 0.01234, "p_equivalent_adjusted": 0.9, **changes}
    assert board.print_board([row("a", **changed)])["p"].item() == p


def test_nothing_in_a_claim_becomes_markup_or_what_json_lacks():
    hostile = row("x", says="<script>alert(1)</script> | *b*", reason="<img src=x>")
    page = as_page([hostile], title="<b>")
    assert "<script" not in page
    assert "<img" not in page
    assert "<title>&lt;b&gt;</title>" in page
    assert '<td class="verdict holds">holds</td>' in page
    found = json.loads(as_json([row("a", seeds_needed=math.inf, met=math.nan)]))
    assert found["version"] == 1
    assert (found["rows"][0]["seeds_needed"], found["rows"][0]["met"]) == ("Infinity", None)


class Found(Result):
    frame = pd.DataFrame({"method": ["<b>|_50%", "y"], "mean": [-0.5, float("nan")], "empty": ""})

    def __str__(self):
        return "x & y."

    def draw(self, figure):
        figure.subplots().plot([0, 1])


def test_a_result_prints_its_sentence_and_shows_its_table_in_three_formats(tmp_path, monkeypatch):
    found = Found()
    assert str(found) == repr(found) == "x & y."
    lines = found.to_markdown().splitlines()
    assert lines == ["| Method | Mean |", "| --- | --- |", r"| \<b\>\|\_50% | −0.5 |", "| y | – |"]
    body = found.to_latex().splitlines()
    row = r"\textless{}b\textgreater{}\textbar{}\_50\% & $-$0.5 \\"
    assert (body[0], body[2], body[4]) == (r"\begin{tabular}{ll}", r"Method & Mean \\", row)
    assert found._repr_html_().startswith("<p>x &amp; y.</p>\n<div")
    assert "<b>" not in found._repr_html_()
    found.plot(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    refused(r"picture: 'x\.what': ", found.plot, "x.what")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # not installed
    refused("it needs matplotlib", found.plot)
