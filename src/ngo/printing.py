"""Tables as files: CSV with every digit; Markdown, LaTeX and HTML as printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
from pylatexenc.latexencode import (
    RULE_REGEX,
    UnicodeToLatexConversionRule,
    UnicodeToLatexEncoder,
)
from tabulate import tabulate

from ngo.common.files import write_text
from verdicts import statistics
from verdicts.statistics import ABSENT


def save_table(table: pd.DataFrame, printed: pd.DataFrame, stem: str | Path, caption: str) -> None:
    """Write ``table`` as ``stem``.csv, and ``printed`` (strings) as .md, .tex and .html.

    The files are the same bytes each time.
    """
    write_text(f"{stem}.csv", table.to_csv(index=False, lineterminator="\n"))
    write_text(f"{stem}.md", as_markdown(printed, caption))
    write_text(f"{stem}.tex", as_latex(printed, caption))
    write_text(f"{stem}.html", page(caption, {"": printed}))


def as_markdown(printed: pd.DataFrame, caption: str) -> str:
    """The caption and a pipe table."""
    cells = printed.rename(columns=inert).map(inert)
    table = cells.to_markdown(index=False, disable_numparse=True)
    return f"{inert(caption, cell=False)}\n\n{table}\n"


def number(value: float, digits: int = 2, *, plus: bool = False) -> str:
    """A number with ``digits`` decimals and a true minus sign; a dash for NaN."""
    return ABSENT if pd.isna(value) else statistics.number(value, digits, plus=plus)


def dashed(values: Iterable[float], form: Callable[[float], str]) -> list[str]:
    """Each value as ``form`` writes it; a dash for NaN."""
    return [ABSENT if pd.isna(value) else form(value) for value in values]


def bracketed(low: float, high: float, form: Callable[[float], str] = number) -> str:
    """An interval, `` [0.61, 0.79]``; empty if there is none."""
    return f" [{form(low)}, {form(high)}]" if np.isfinite([low, high]).all() else ""


def plus_minus(mean: float, half_width: float, digits: int = 2, *, plus: bool = False) -> str:
    """``62.3 ± 1.2``; the mean alone if there is no interval (too few seeds).

    Two digits of the half-width count, and there are at most ``digits`` decimals.
    """
    if pd.isna(half_width) or pd.isna(mean):
        return number(mean, digits, plus=plus)
    sensible = statistics.digits_of(0, -half_width, half_width)
    digits = digits if sensible is None else min(sensible, digits)
    return f"{number(mean, digits, plus=plus)} ± {number(half_width, digits)}"


# LaTeX.

#: Characters in mathematics. In text, LaTeX's default encoding prints a bar as a dash.
_MATHS = {
    **{"x̄": r"\bar{x}", "λ_n": r"\lambda_n", "φ": r"\phi"},
    **{"√": r"\surd", "ᵢ": "_i", "ⱼ": "_j", "|": "|"},
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
    characters = re.compile("|".join(map(re.escape, _MATHS)))
    in_maths = (characters, lambda found: rf"\ensuremath{{{_MATHS[found[0]]}}}")
    return UnicodeToLatexEncoder(
        conversion_rules=[UnicodeToLatexConversionRule(RULE_REGEX, [in_maths]), "defaults"],
        unknown_char_policy="fail",
        unknown_char_warning=False,
    )


# Markdown.


def inert(text: str, *, cell: bool = True) -> str:
    """``text`` without HTML and links, on one line; emphasis stays.

    A ``cell`` of a pipe table has no bars either.
    """
    line = " ".join(text.splitlines())
    line = re.sub("<(?=[A-Za-z/!?])", "&lt;", line).replace("](", r"]\(")
    return line.replace("|", r"\|") if cell else line


# HTML: self-contained pages for the report.

STYLE = """\
body {font-family: sans-serif; margin: 2em; line-height: 1.4}
table {border-collapse: collapse; margin: 1em 0; font-size: 90%}
caption {text-align: left}
th, td {padding: 0.2em 0.8em; text-align: left; vertical-align: top}
td:not(:last-child) {white-space: nowrap}
thead {border-top: 2px solid; border-bottom: 1px solid}
tbody {border-bottom: 2px solid}
"""


def page(caption: str, tables: Mapping[str, object]) -> str:
    """A page with ``caption`` above ``tables``, which map headings (may be empty) to tables.

    A table is a data frame, or a list of mappings from column to text. Text is escaped. Each table
    has one caption: its heading, or else the page's.
    """
    parts = [f"<p>{escape(caption)}</p>"] if all(tables) else []
    for heading, rows in tables.items():
        html = tabulate(rows, "keys", tablefmt="html", showindex=False, disable_numparse=True)
        html = re.sub(r"<th(?=[ >])", '<th scope="col"', html)
        told = escape(heading or caption)
        parts.append(html.replace("<table>", f"<table>\n<caption>{told}</caption>", 1))
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{escape(caption)}'
        f"</title>\n<style>\n{STYLE}</style>\n<body>\n{body}\n</body>\n</html>\n"
    )


def body(html: str) -> str:
    """The body of a page made by ``page``."""
    return html.partition("<body>\n")[2].rpartition("\n</body>")[0]
