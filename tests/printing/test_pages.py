"""Tables as a page of HTML."""

import re

import pandas as pd
import pytest

from ngo.common.registry import UserError
from ngo.printing.pages import body, page


def test_text_is_escaped_and_headings_may_be_empty():
    html = page("a < b", {"": pd.DataFrame({"x": ["<y>"]}), "Second": [{"k": "v"}]})
    assert html.startswith("<!doctype html>")
    assert "&lt;y&gt;" in html
    assert html.count("<table>\n<caption>") == 2
    assert "<caption>a &lt; b</caption>" in html
    assert "<caption>Second</caption>" in html
    assert len(re.findall(r'<th scope="col"[ >]', html)) == len(re.findall("<th[ >]", html)) == 2


@pytest.mark.parametrize(
    "html",
    ["<script>x()</script>", '<p onclick="x()">a</p>', "<!-- a -->", '<img src="a">',
     '<td style="background: url(a);">a</td>'],
)  # fmt: skip
def test_only_plain_tables_are_taken_from_a_saved_page(html):
    with pytest.raises(UserError, match="report: a saved table has HTML of another kind"):
        body(f"<body>\n<p>A</p>{html}\n</body>")
