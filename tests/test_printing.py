"""Tables as files: CSV, Markdown, LaTeX and HTML."""

import re

import pandas as pd
import pytest
from cases import cases

from ngo import printing
from ngo.printing import as_latex, escaped, inert, page

HOSTILE = "<script>x()</script> ![a](http://b) [c](d)\n\n# e | f"


def test_a_table_in_four_forms(tmp_path):
    table = pd.DataFrame({"name": ["a_b"], "value": [1 / 3]})
    printed = pd.DataFrame({"Name": ["a_b"], "Mean ± %": ["0.33 ± 0.10"], "−": ["|–|"]})
    for stem in ("t", "again"):
        printing.save_table(table, printed, tmp_path / stem, "A caption, 95 %.")
    for kind in ("csv", "md", "tex", "html"):
        assert (tmp_path / f"t.{kind}").read_bytes() == (tmp_path / f"again.{kind}").read_bytes()
    assert pd.read_csv(tmp_path / "t.csv")["value"].item() == 1 / 3
    markdown = (tmp_path / "t.md").read_text()
    assert markdown.startswith("A caption, 95 %.\n\n| Name")
    assert r"| a_b    | 0.33 ± 0.10 | \|–\|" in markdown
    assert r"a\_b & 0.33 \ensuremath{\pm} 0.10" in (tmp_path / "t.tex").read_text()
    assert "<td>a_b" in (tmp_path / "t.html").read_text()


def test_text_of_a_table_is_neither_html_nor_links(tmp_path):
    printed = pd.DataFrame({HOSTILE: [HOSTILE, "< 0.001"]})
    printing.save_table(printed, printed, tmp_path / "t", HOSTILE)
    for kind in ("md", "html", "tex"):
        text = (tmp_path / f"t.{kind}").read_text()
        assert "<script" not in text
        assert "](" not in text or kind != "md"
    markdown = (tmp_path / "t.md").read_text()
    assert len(markdown.splitlines()) == 6  # the caption, and a table of two rows
    assert "| < 0.001" in markdown


def test_printed_numbers():
    nan = float("nan")
    assert printing.plus_minus(62.3, 1.204) == "62.3 ± 1.2"
    assert printing.plus_minus(62.3, nan) == "62.30"
    assert printing.plus_minus(nan, 1.0) == "–"
    assert printing.plus_minus(2.5, 0.5, 3, plus=True) == "+2.50 ± 0.50"
    assert printing.number(-1, plus=True) == "−1.00"
    assert printing.number(-1e-9, plus=True) == "+0.00"
    assert printing.dashed([0.5, nan], "{:g}".format) == ["0.5", "–"]
    assert printing.bracketed(-0.5, 0.25) == " [−0.50, 0.25]"
    assert printing.bracketed(nan, nan) == ""


@cases(
    "text, latex",
    ("1 − |λ₂|", r"1 \ensuremath{-} \ensuremath{|}\ensuremath{\lambda}\ensuremath{_2}"
    r"\ensuremath{|}"),
    ("λ_n", r"\ensuremath{\lambda_n}"),
    ("γ ≥ 0, φ", r"\ensuremath{\gamma} \ensuremath{\geq} 0, \ensuremath{\phi}"),
    ("x̄ a–b ± 0.1", r"\ensuremath{\bar{x}} a{\textendash}b \ensuremath{\pm} 0.1"),
    (r"a\b {c} $5 #1 & ~^", r"a{\textbackslash}b \{c\} \$5 \#1 \& "
    r"{\textasciitilde}{\textasciicircum}"),
    ("xᵢ Łódź", r"x\ensuremath{_i} {\L}\'od\'z"),
)  # fmt: skip
def test_latex_is_ascii_and_escaped_once(text, latex):
    assert escaped(text) == latex
    table = as_latex(pd.DataFrame({"a": [text]}), "c")
    assert f"\n{latex} \\\\\n" in table
    assert table.isascii()


def test_a_character_without_a_latex_form_is_named():
    with pytest.raises(ValueError, match="U\\+2603 - ‘☃’"):
        escaped("a ☃")


def test_text_in_markdown_is_one_line_without_html_and_links():
    assert inert("a <b>c</b>\n\n# d") == "a &lt;b>c&lt;/b>  # d"
    assert inert("![a](http://b) <!-- c -->") == r"![a]\(http://b) &lt;!-- c -->"
    assert inert("< 0.001, 1 <2, [0, 1] (n = 3), *a*") == "< 0.001, 1 <2, [0, 1] (n = 3), *a*"
    assert inert("|x|") == r"\|x\|"
    assert inert("|x|", cell=False) == "|x|"


def test_text_of_a_page_is_escaped_and_headings_may_be_empty():
    html = page("a < b", {"": pd.DataFrame({"x": ["<y>"]}), "Second": [{"k": "v"}]})
    assert html.startswith("<!doctype html>")
    assert "&lt;y&gt;" in html
    assert html.count("<table>\n<caption>") == 2
    assert "<caption>a &lt; b</caption>" in html
    assert "<caption>Second</caption>" in html
    assert len(re.findall(r'<th scope="col"[ >]', html)) == len(re.findall("<th[ >]", html)) == 2
