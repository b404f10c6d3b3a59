from ngo.printing.markdown_text import inert


def test_text_becomes_one_line_without_html_and_links():
    assert inert("a <b>c</b>\n\n# d") == "a &lt;b>c&lt;/b>  # d"
    assert inert("![a](http://b) <!-- c -->") == r"![a]\(http://b) &lt;!-- c -->"


def test_signs_without_a_meaning_stay():
    assert inert("< 0.001, 1 <2, [0, 1] (n = 3), *a*") == "< 0.001, 1 <2, [0, 1] (n = 3), *a*"


def test_only_a_cell_has_no_bars():
    assert inert("|x|") == r"\|x\|"
    assert inert("|x|", cell=False) == "|x|"
