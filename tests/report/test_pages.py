"""Tables as a page of HTML."""

import pandas as pd

from ngo.report.pages import body, page


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
