"""Verdicts as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

from verdicts.counts import counted, counts, registered
from verdicts.render.board import EXPLAINED, print_board
from verdicts.row import Row


def as_markdown(rows: Sequence[Row]) -> str:
    """A page: the counts, a table of the claims, and one of their cells if there are any."""
    told = filter(None, [counted(counts(rows)), registered(rows)])
    parts = ["# Verdicts", *told, pipe_table(print_board(rows)), EXPLAINED]
    cells = print_board(rows, cells=True)
    if len(cells):
        parts += ["## Parts of claims", pipe_table(cells)]
    return "\n\n".join(parts) + "\n"


def pipe_table(printed: pd.DataFrame) -> str:
    """A table of strings as a pipe table; characters with a meaning in Markdown are escaped."""
    lines = [list(printed.columns), ["---"] * printed.shape[1], *printed.itertuples(index=False)]
    return "\n".join("| " + " | ".join(map(escaped, line)) + " |" for line in lines)


def escaped(plain: str) -> str:
    """Text on one line that has no meaning in Markdown, in a table too."""
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", " ".join(plain.splitlines()))
