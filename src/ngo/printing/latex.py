"""Tables as LaTeX."""

from __future__ import annotations

import re
from functools import cache

import pandas as pd
from pylatexenc.latexencode import (
    RULE_DICT,
    RULE_REGEX,
    UnicodeToLatexConversionRule,
    UnicodeToLatexEncoder,
)

_SYMBOLS = (
    (re.compile("x̄"), r"\\ensuremath{\\bar{x}}"),
    (re.compile("λ_n"), r"\\ensuremath{\\lambda_n}"),
)
_CHARACTERS = {
    ord("|"): r"\ensuremath{|}",  # in text, LaTeX's default encoding prints a dash
    ord("φ"): r"\ensuremath{\phi}",
    ord("√"): r"\ensuremath{\surd}",
    ord("ᵢ"): r"\ensuremath{_i}",
    ord("ⱼ"): r"\ensuremath{_j}",
}


def as_latex(printed: pd.DataFrame, caption: str) -> str:
    """A table no wider than the text, in ASCII; its document needs booktabs and adjustbox."""
    latex = (
        printed.rename(columns=escaped)
        .map(escaped)
        .to_latex(index=False, escape=False, caption=escaped(caption), position="t")
    )
    begin, end = r"\begin{tabular}", r"\end{tabular}"
    latex = latex.replace(begin, rf"\begin{{adjustbox}}{{max width=\textwidth}}" f"\n{begin}")
    return latex.replace(end, f"{end}\n" r"\end{adjustbox}")


def escaped(text: str) -> str:
    """``text`` for LaTeX; a ValueError names a character that has no LaTeX form."""
    return _encoder().unicode_to_latex(text)


@cache
def _encoder() -> UnicodeToLatexEncoder:
    return UnicodeToLatexEncoder(
        conversion_rules=[
            UnicodeToLatexConversionRule(RULE_REGEX, _SYMBOLS),
            UnicodeToLatexConversionRule(RULE_DICT, _CHARACTERS),
            "defaults",
        ],
        unknown_char_policy="fail",
        unknown_char_warning=False,
    )
