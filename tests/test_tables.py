"""Tables as files."""

import pandas as pd
import pytest
from test_comparisons import TABLE_A1, cell

from ngo import comparisons, tables
from ngo.comparisons import HITTING_TIME, TEST_LOSS


def test_a_table_in_three_forms(tmp_path):
    table = pd.DataFrame({"name": ["a_b"], "value": [1 / 3]})
    printed = pd.DataFrame({"Name": ["a_b"], "Mean ± %": ["0.33 ± 0.10"], "−": ["|–|"]})
    for stem in ("t", "again"):
        tables.save_table(table, printed, tmp_path / stem, "A caption, 95 %.")
    for kind in ("csv", "md", "tex"):
        first = (tmp_path / f"t.{kind}").read_bytes()
        assert first == (tmp_path / f"again.{kind}").read_bytes()
    assert pd.read_csv(tmp_path / "t.csv")["value"].item() == 1 / 3
    markdown = (tmp_path / "t.md").read_text()
    assert markdown.startswith("A caption, 95 %.\n\n| Name")
    assert r"| a_b    | 0.33 ± 0.10 | \|–\|" in markdown
    latex = (tmp_path / "t.tex").read_text()
    assert r"a\_b & 0.33 $\pm$ 0.10 & $|$--$|$" in latex
    assert r"\caption{A caption, 95 \%.}" in latex
    assert r"\toprule" in latex
    assert latex.index(r"\begin{adjustbox}{max width=\textwidth}") < latex.index(r"\begin{tabular}")


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("1 − max(|λ₂|, |λ_n|)", r"1 $-$ max($|$$\lambda$\textsubscript{2}$|$, $|$$\lambda_n$$|$)"),
        ("γ ≥ 0, φ ≤ 1, 3 × 10⁻³", r"$\gamma$ $\ge$ 0, $\phi$ $\le$ 1, 3 $\times$ 10"
         r"\textsuperscript{$-$}\textsuperscript{3}"),
        ("x̄ … a–b µ", r"$\bar{x}$ \ldots{} a--b $\mu$"),
        (r"a\b {c} $5 #1 & ~^", r"a\textbackslash{}b \{c\} \$5 \#1 \& "
         r"\textasciitilde{}\textasciicircum{}"),
    ],
)  # fmt: skip
def test_latex_is_ascii_and_escaped_once(text, latex):
    found = tables.as_latex(pd.DataFrame({"a": [text]}), "c")
    assert f"\n{latex} \\\\\n" in found
    assert found.isascii()


def test_a_character_without_a_latex_form_is_named():
    with pytest.raises(ValueError, match="'☃' in 'a ☃' has no LaTeX form"):
        tables.as_latex(pd.DataFrame({"a": ["a ☃"]}), "c")


def test_printed_numbers():
    assert tables.plus_minus(62.3, 1.204) == "62.30 ± 1.20"
    assert tables.plus_minus(62.3, float("nan")) == "62.30"
    assert tables.plus_minus(float("nan"), 1.0) == "–"
    assert tables.plus_minus(2.5, 0.5, 3, plus=True) == "+2.500 ± 0.500"
    assert tables.number(-1, plus=True) == "−1.00"
    assert tables.number(-1e-9, plus=True) == "+0.00"
    assert tables.number(float("nan")) == "–"


def test_digits_are_each_measures_own():
    rows = cell(None, "centralized", [0.9]) + cell("ring", "ngo", [0.8], diverged=[0])
    runs = comparisons.with_first_hitting(pd.DataFrame(rows))
    table = comparisons.protocol_table(runs, TABLE_A1, [TEST_LOSS, HITTING_TIME])
    printed = tables.protocols(table)
    assert printed["Measure"].tolist() == ["test loss"] * 2 + ["first hitting time (epochs)"] * 2
    assert printed["Consensus"].tolist() == ["0.100", "–", "3.00", "–"]
    assert printed["Paper"].tolist() == ["0.26", "0.25", "–", "48"]
    assert printed["Diverged"].tolist() == ["0 of 1", "1 of 1"] * 2
    assert "Measure" not in tables.protocols(table[:2])
