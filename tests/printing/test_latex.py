"""Tables as LaTeX."""

import pandas as pd
import pytest

from ngo.printing.latex import as_latex, escaped


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("1 − |λ₂|", r"1 \ensuremath{-} \ensuremath{|}\ensuremath{\lambda}\ensuremath{_2}"
         r"\ensuremath{|}"),
        ("λ_n", r"\ensuremath{\lambda_n}"),
        ("γ ≥ 0, φ", r"\ensuremath{\gamma} \ensuremath{\geq} 0, \ensuremath{\phi}"),
        ("x̄ a–b ± 0.1", r"\ensuremath{\bar{x}} a{\textendash}b \ensuremath{\pm} 0.1"),
        (r"a\b {c} $5 #1 & ~^", r"a{\textbackslash}b \{c\} \$5 \#1 \& "
         r"{\textasciitilde}{\textasciicircum}"),
        ("xᵢ Łódź", r"x\ensuremath{_i} {\L}\'od\'z"),
    ],
)  # fmt: skip
def test_latex_is_ascii_and_escaped_once(text, latex):
    assert escaped(text) == latex
    found = as_latex(pd.DataFrame({"a": [text]}), "c")
    assert f"\n{latex} \\\\\n" in found
    assert found.isascii()


def test_a_character_without_a_latex_form_is_named():
    with pytest.raises(ValueError, match="U\\+2603 - ‘☃’"):
        escaped("a ☃")
