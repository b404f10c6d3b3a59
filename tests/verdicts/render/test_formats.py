"""Verdicts as text, Markdown, JSON and a page."""

import json
import math

from made_up_page import ROWS, row

from verdicts.render import as_json, as_markdown, as_page, as_text

CELL = row("order", cell="ring", verdict="fails")
HOSTILE = row("x", says="<script>alert(1)</script> | *b*", reason="<img src=x>")


def test_text_has_two_lines_for_each_claim_and_the_counts():
    lines = as_text([ROWS[0], CELL]).splitlines()
    assert lines[0] == "holds      order: Statement of order"
    assert lines[1].strip().startswith("4.12 points; expected above 0; margin 0.5; 95 % interval")
    assert lines[2] == "fails        order / ring"
    assert lines[-1].startswith("Of 1 claim, 1 holds, 0 fail, 0 show no difference")


def test_text_says_how_many_seeds_the_next_look_takes():
    one, other = as_text([row("a", next_look=40), row("b")]).splitlines()[1:4:2]
    assert one.endswith("; the next planned look takes 40 seeds")
    assert "look" not in other


def test_every_format_says_that_a_real_effect_is_below_the_margin():
    both = [row("a", below_margin=True)]
    said = "and the effect is smaller than the margin"
    for form in (as_text, as_markdown, as_page):
        assert form(both).count(said) == 1
    assert '<td class="verdict holds">holds, and the effect' in as_page(both)
    assert json.loads(as_json(both))["rows"][0]["below_margin"] is True


def test_markdown_has_a_row_for_each_claim_and_each_cell():
    page = as_markdown([*ROWS, CELL])
    assert page.count("\n| ") == len(ROWS) + 1 + 2 + 2  # heads, rules and rows
    assert "## Parts of claims" in page
    assert "## Parts of claims" not in as_markdown(ROWS)
    assert r"\<script\>alert(1)\</script\> \| \*b\*" in as_markdown([HOSTILE])


def test_json_has_no_number_that_json_lacks():
    found = json.loads(as_json([row("a", seeds_needed=math.inf, met=math.nan)]))
    assert found["version"] == 1
    assert (found["rows"][0]["seeds_needed"], found["rows"][0]["met"]) == ("Infinity", None)


def test_nothing_in_a_claim_becomes_markup():
    page = as_page([HOSTILE], title="<b>")
    assert "<script" not in page
    assert "<img" not in page
    assert "<title>&lt;b&gt;</title>" in page
    assert '<td class="verdict holds">holds</td>' in page
