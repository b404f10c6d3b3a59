"""The board: all papers, all claims with their verdicts, and the methods in each setting.

``make board`` writes the three tables as CSV from the shipped archives, and the pages from them, as
Markdown and as one HTML file, for docs/: links lead to the papers' own pages and to the shipped
archives. Texts are printed as on the papers' own pages.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ngo.printing import bracketed
from ngo.report.pages import FOLDER, file, rendered
from verdicts import judgement
from verdicts.claims import MARKS
from verdicts.files import read_mapping
from verdicts.verdict_rows import ANSWERS, answered, counted, counts_of

#: A row of a table: values by column.
Line = Mapping[str, Any]


@dataclass(frozen=True)
class Board:
    """The three tables, with the columns of their CSV files."""

    #: ``tier``, ``title``, ``authors``; ``address`` (empty if it is nowhere online); ``claim``, in
    #: a sentence; ``page`` and ``archive``, paths in docs/ and in the repository (empty if it was
    #: not run), the archive's ``sha256``, and the number of its ``runs``; ``older``, whether an
    #: earlier revision of the code made it.
    papers: Sequence[Line]
    #: ``tier``; ``claim``, its id; ``statement``, ``place``, ``verdict``; ``remark``, which ends
    #: with the mark of a claim that is counted apart; ``effect``, ``interval``; ``seeds``, or a
    #: theorem's cases; ``scale``: data sets, workers and steps of the ``runs`` that decide it.
    claims: Sequence[Line]
    #: Methods in settings, by the columns of ``analysis.board.compared_methods``; NaN: not known.
    cells: Sequence[Line]

    def files(self) -> dict[str, str]:
        """The content of the tables and pages, by their paths in docs/."""
        tables = {"papers": self.papers, "claims": self.claims, "matrix": self.cells}
        files = {f"board/{name}.csv": as_csv(lines) for name, lines in tables.items()}
        return files | {"board.md": as_markdown(self), "board.html": as_html(self)}


#: How the columns that describe a setting are printed, with their units in the table.
CONDITIONS = read_mapping(FOLDER / "conditions.yaml", "conditions")


def estimate_of(cell: Line) -> str:
    """``91.2 [90.5, 91.9]``; empty if it was not measured."""
    if math.isinf(cell["estimate"]):
        return "diverged"
    form = "{:.1f}".format
    ends = bracketed(cell["low"], cell["high"], form)
    return "" if math.isnan(cell["estimate"]) else form(cell["estimate"]) + ends


def with_values(cell: Line) -> str:
    """The method with its best values: ``NGO (p = 0.9)``."""
    return f"{cell['method']} ({cell['chosen']})" if cell["chosen"] else cell["method"]


def conditions(cell: Line) -> str:
    """The setting in words: ``16 workers, data skewed by Dirichlet's β = 0.1``.

    A condition that is 0 or NaN does not hold.
    """
    told = [text.format(cell[k] / unit) for k, (text, unit) in CONDITIONS.items() if cell[k] > 0]
    return ", ".join(told)


def as_csv(lines: Sequence[Line]) -> str:
    """Rows with the same columns as CSV: six digits for a number, nothing for NaN."""
    table = pd.DataFrame(lines).map(_text)
    return table.to_csv(index=False, lineterminator="\n", float_format="%.6g")


def _text(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else ""
    return " ".join(value.split()) if isinstance(value, str) else value


def as_markdown(board: Board) -> str:
    """The page as Markdown."""
    return rendered("board.md.jinja", **_values(board))


def as_html(board: Board) -> str:
    """The page as one HTML file that needs no other but for its links."""
    style, script = file("page.css"), file("page.js")
    return rendered("board.html.jinja", style=style, script=script, **_values(board))


def _values(board: Board) -> dict[str, object]:
    settings: dict[str, list[Line]] = {}
    grid: dict[str, dict[str, Line]] = {}
    for cell in board.cells:
        shown = {**cell, "shown": estimate_of(cell), "with_values": with_values(cell)}
        settings.setdefault(cell["setting"], []).append(shown)
        grid.setdefault(cell["method"], {})[cell["setting"]] = shown
    used = sorted({claim["verdict"] for claim in board.claims}, key=judgement.VERDICTS.index)
    return {
        **{"board": board, "told": told(board), "columns": [*ANSWERS], "used": used},
        **{"settings": settings, "grid": grid, "conditions": conditions},
        **{"numbers": lambda of: answered(counts(of)), "helps": helps, "ours": ours},
    }


def told(board: Board) -> str:
    """The numbers of papers and of our own studies, with and without runs, and the verdicts.

    Two folders may be on one paper. What can be read nowhere is a study of our own.
    """
    run = [paper["address"] for paper in board.papers if paper["archive"]]
    papers = _many(len({*filter(None, run)}), "paper", "papers")
    studies = _many(run.count(""), "study of our own", "studies of our own")
    absent = _many(len(board.papers) - len(run), "more paper not run.", "more papers not run.")
    run_of_all = " and ".join(filter(None, [papers, studies]))
    return f"{run_of_all} run. {counted(counts(board.claims))}{absent and ' ' + absent}"


def _many(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""


def counts(claims: Iterable[Line]) -> dict[str, int]:
    """The number of claims with each verdict, as on the papers' own pages (``verdicts.counts``)."""
    ends = [(claim["verdict"], claim["remark"].rpartition("; ")[2]) for claim in claims]
    return counts_of((verdict, end if end in MARKS else None) for verdict, end in ends)


def ours(claim: Line) -> bool:
    """Whether it asks if nonlinear gossip helps there, which the paper does not ask."""
    return claim["claim"].startswith("ours-")


def helps(claims: Iterable[Line]) -> str:
    """The verdicts on the claims that nonlinear gossip helps there: ``1 holds, 2 fails``."""
    numbers = counts(filter(ours, claims))
    return ", ".join(f"{number} {verdict}" for verdict, number in numbers.items() if number)
