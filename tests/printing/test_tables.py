"""Tables as files."""

import pandas as pd

from ngo.printing import tables


def test_a_table_in_four_forms(tmp_path):
    table = pd.DataFrame({"name": ["a_b"], "value": [1 / 3]})
    printed = pd.DataFrame({"Name": ["a_b"], "Mean ± %": ["0.33 ± 0.10"], "−": ["|–|"]})
    for stem in ("t", "again"):
        tables.save_table(table, printed, tmp_path / stem, "A caption, 95 %.")
    for kind in ("csv", "md", "tex", "html"):
        first = (tmp_path / f"t.{kind}").read_bytes()
        assert first == (tmp_path / f"again.{kind}").read_bytes()
    assert pd.read_csv(tmp_path / "t.csv")["value"].item() == 1 / 3
    markdown = (tmp_path / "t.md").read_text()
    assert markdown.startswith("A caption, 95 %.\n\n| Name")
    assert r"| a_b    | 0.33 ± 0.10 | \|–\|" in markdown
    assert r"a\_b & 0.33 \ensuremath{\pm} 0.10" in (tmp_path / "t.tex").read_text()
    assert "<td>a_b" in (tmp_path / "t.html").read_text()


def test_printed_numbers():
    assert tables.plus_minus(62.3, 1.204) == "62.30 ± 1.20"
    assert tables.plus_minus(62.3, float("nan")) == "62.30"
    assert tables.plus_minus(float("nan"), 1.0) == "–"
    assert tables.plus_minus(2.5, 0.5, 3, plus=True) == "+2.500 ± 0.500"
    assert tables.number(-1, plus=True) == "−1.00"
    assert tables.number(-1e-9, plus=True) == "+0.00"
    assert tables.number(float("nan")) == "–"


def test_dashes_and_intervals():
    assert tables.dashed([0.5, float("nan")], "{:g}".format) == ["0.5", "–"]
    assert tables.bracketed(-0.5, 0.25) == " [−0.50, 0.25]"
    assert tables.bracketed(1e-5, 1e-4, "{:.0e}".format) == " [1e-05, 1e-04]"
    assert tables.bracketed(float("nan"), float("nan")) == ""


HOSTILE = "<script>x()</script> ![a](http://b) [c](d)\n\n# e | f"


def test_text_of_a_table_is_neither_html_nor_links(tmp_path):
    printed = pd.DataFrame({HOSTILE: [HOSTILE, "< 0.001"]})
    tables.save_table(printed, printed, tmp_path / "t", HOSTILE)
    for kind in ("md", "html", "tex"):
        text = (tmp_path / f"t.{kind}").read_text()
        assert "<script" not in text
        assert "](" not in text or kind != "md"
    markdown = (tmp_path / "t.md").read_text()
    assert len(markdown.splitlines()) == 6  # the caption, and a table of two rows
    assert "| < 0.001" in markdown
