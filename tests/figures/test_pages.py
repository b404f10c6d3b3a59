"""Tables as a page of HTML."""

import pandas as pd
import pytest

from ngo.common.registry import UserError
from ngo.figures.pages import body, page


def test_text_is_escaped_and_headings_may_be_empty():
    html = page("a < b", {"": pd.DataFrame({"x": ["<y>"]}), "Second": [{"k": "v"}]})
    assert html.startswith("<!doctype html>")
    assert "<p>a &lt; b</p>" in html
    assert "&lt;y&gt;" in html
    assert html.count("<h2>") == 1
    assert "<h2>Second</h2>" in html
    assert html.count("<table>") == 2


def test_the_body_of_a_page():
    html = page("a < b", {"Second": [{"k": "v"}]})
    assert body(html).startswith("<p>a &lt; b</p>\n<h2>Second</h2>\n<table>")
    assert body(html).endswith("</table>")


@pytest.mark.parametrize(
    "html",
    ["<script>x()</script>", '<p onclick="x()">a</p>', "<!-- a -->", '<img src="a">',
     '<td style="background: url(a);">a</td>'],
)  # fmt: skip
def test_only_plain_tables_are_taken_from_a_saved_page(html):
    with pytest.raises(UserError, match="report: a saved table has HTML of another kind"):
        body(f"<body>\n<p>A</p>{html}\n</body>")
