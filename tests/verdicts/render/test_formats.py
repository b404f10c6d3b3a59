"""Verdicts as text, Markdown, JSON and a page."""

import json
import math

from made_up_page import ROWS, row

from verdicts.render import as_json, as_markdown, as_page

CELL = row("order", cell="ring", verdict="fails")
HOSTILE = row("x", says="<script>alert(1)</script> | *b*", reason="<img src=x>")


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
