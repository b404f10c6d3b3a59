"""Tables as files: CSV with every digit; Markdown, LaTeX and HTML as printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from ngo.common.files import atomic_file, write_text
from ngo.printing.latex import as_latex
from ngo.printing.markdown_text import inert
from ngo.printing.pages import page
from verdicts.row import ABSENT


def save_table(table: pd.DataFrame, printed: pd.DataFrame, stem: str | Path, caption: str) -> None:
    """Write ``table`` as ``stem``.csv, and ``printed`` (strings) as .md, .tex and .html.

    The files are the same bytes each time.
    """
    with atomic_file(f"{stem}.csv") as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")
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
    if pd.isna(value):
        return ABSENT
    rounded = round(value, digits) + 0.0  # −0.00 is 0.00
    return f"{rounded:{'+' if plus else ''}.{digits}f}".replace("-", "−")


def dashed(values: Iterable[float], form: Callable[[float], str]) -> list[str]:
    """Each value as ``form`` writes it; a dash for NaN."""
    return [ABSENT if pd.isna(value) else form(value) for value in values]


def bracketed(low: float, high: float, form: Callable[[float], str] = number) -> str:
    """An interval, `` [0.61, 0.79]``; empty if there is none."""
    return f" [{form(low)}, {form(high)}]" if np.isfinite([low, high]).all() else ""


def plus_minus(mean: float, half_width: float, digits: int = 2, *, plus: bool = False) -> str:
    """``62.30 ± 1.20``; the mean alone if there is no interval (too few seeds)."""
    shown = number(mean, digits, plus=plus)
    unsure = pd.isna(half_width) or pd.isna(mean)
    return shown if unsure else f"{shown} ± {half_width:.{digits}f}"
