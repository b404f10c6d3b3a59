"""Tables as a page of HTML."""

import pandas as pd

from ngo.report.pages import page


def test_text_is_escaped_and_headings_may_be_empty():
    html = page("a < b", {"": pd.DataFrame({"x": ["<y>"]}), "Second": [{"k": "v"}]})
    assert html.startswith("<!doctype html>")
    assert "<p>a &lt; b</p>" in html
    assert "&lt;y&gt;" in html
    assert html.count("<h2>") == 1
    assert "<h2>Second</h2>" in html
    assert html.count("<table>") == 2
