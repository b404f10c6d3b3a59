"""The board: all papers, all claims with their verdicts, and the methods in each setting.

``make board`` writes the three tables as CSV from the shipped archives, and the pages from them, as
Markdown and as one HTML file, for docs/: links lead to the papers' own pages and to the shipped
archives. Texts are printed as on the papers' own pages.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from ngo.printing import bracketed
from ngo.report.templates import file, rendered
from verdicts import judgement
from verdicts.claims import MARKS
from verdicts.verdict_rows import counted, counts_of

#: The verdicts with a column of counts.
COLUMNS = sorted(
    {*judgement.ALWAYS, judgement.REVERSED, judgement.OUT_OF_SCALE}, key=judgement.VERDICTS.index
)


@dataclass(frozen=True)
class BoardPaper:
    """A paper of the board. Without an archive it was not run."""

    tier: str
    title: str
    authors: str
    #: Where it can be read; empty if it is nowhere online.
    address: str
    #: What it claims, in a sentence.
    claim: str
    #: The path in docs/ of its page; empty if it was not run.
    page: str = ""
    #: The path of its archive in the repository; empty if it was not run.
    archive: str = ""
    #: That of the archive.
    sha256: str = ""
    runs: int = 0
    #: Whether the archive is marked as made by an earlier revision of the code.
    older: bool = False

    @property
    def claims_page(self) -> str:
        """The path in docs/ of the page with its claims."""
        return "results/claims.md" if self.page == "results.md" else self.page


@dataclass(frozen=True)
class BoardClaim:
    """A claim with its verdict."""

    tier: str
    #: Its id.
    claim: str
    statement: str
    place: str
    verdict: str
    remark: str
    effect: str
    interval: str
    #: The number of seeds, or of a theorem's cases.
    seeds: str
    #: Data sets, workers and steps of the runs that decide it, or what is measured.
    scale: str
    #: How many runs decide it.
    runs: int

    @property
    def ours(self) -> bool:
        """Whether it asks if nonlinear gossip helps there, which the paper does not ask."""
        return self.claim.startswith("ours-")

    @property
    def mark(self) -> str | None:
        """Its mark, if it is counted apart; ``remark`` ends with it."""
        last = self.remark.rpartition("; ")[2]
        return last if last in MARKS else None


#: A method in a setting, by the columns of ``analysis.board.compared_methods``; NaN: there is none.
Cell = Mapping[str, Any]

#: How the columns that describe a setting are told. One that is 0 or NaN does not hold.
CONDITIONS = {
    "workers": "{:g} workers",
    "skew": "data skewed by Dirichlet's β = {:g}",
    "bandwidth": "{:.3g} MB to send for each worker",
    "stragglers": "{:.3g} % of the workers slow",
    "lateness": "messages {:g} steps late",
    "failing": "{:.3g} % of the links failing",
    "liars": "{:g} of the workers lying",
}

#: Their units, where these are not 1.
UNITS = {"bandwidth": 1e6, "stragglers": 0.01, "failing": 0.01}


def estimate_of(cell: Cell) -> str:
    """``91.2 [90.5, 91.9]``; empty if it was not measured."""
    if math.isinf(cell["estimate"]):
        return "diverged"
    form = "{:.1f}".format
    ends = bracketed(cell["low"], cell["high"], form)
    return "" if math.isnan(cell["estimate"]) else form(cell["estimate"]) + ends


def with_values(cell: Cell) -> str:
    """The method with its best values: ``NGO (p = 0.9)``."""
    return f"{cell['method']} ({cell['chosen']})" if cell["chosen"] else cell["method"]


def conditions(cell: Cell) -> str:
    """The setting in words: ``16 workers, data skewed by Dirichlet's β = 0.1``."""
    values = {name: cell[name] / UNITS.get(name, 1) for name in CONDITIONS}
    return ", ".join(CONDITIONS[name].format(value) for name, value in values.items() if value > 0)


@dataclass(frozen=True)
class Board:
    """The three tables."""

    papers: Sequence[BoardPaper]
    claims: Sequence[BoardClaim]
    cells: Sequence[Cell]

    def files(self) -> dict[str, str]:
        """The content of the CSV files, by name."""
        return {
            "papers.csv": as_csv(map(asdict, self.papers)),
            "claims.csv": as_csv(map(asdict, self.claims)),
            "matrix.csv": as_csv(self.cells),
        }


def as_csv(rows: Iterable[Mapping[str, object]]) -> str:
    """Rows with the same columns as CSV: six digits for a number, nothing for NaN."""
    told = [{name: _text(value) for name, value in row.items()} for row in rows]
    return pd.DataFrame(told).to_csv(index=False, lineterminator="\n")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return " ".join(str(value).split())


def as_markdown(board: Board) -> str:
    """The page as Markdown."""
    return rendered("board.md.jinja", **_values(board))


def as_html(board: Board) -> str:
    """The page as one HTML file that needs no other but for its links."""
    style, script = file("page.css"), file("page.js")
    return rendered("board.html.jinja", style=style, script=script, **_values(board))


def _values(board: Board) -> dict[str, object]:
    cells = [
        {**cell, "shown": estimate_of(cell), "with_values": with_values(cell)}
        for cell in board.cells
    ]
    used = sorted({claim.verdict for claim in board.claims}, key=judgement.VERDICTS.index)
    return {
        **{"board": board, "told": told(board), "columns": COLUMNS, "used": used},
        "settings": by("setting", cells),
        "grid": {
            method: {cell["setting"]: cell for cell in row}
            for method, row in by("method", cells).items()
        },
        **{"conditions": conditions, "counts": counts, "helps": helps},
    }


def by(column: str, cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """Cells by their value in a column, in their order."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell[column], []).append(cell)
    return groups


def told(board: Board) -> str:
    """The numbers of papers and of our own studies, with and without runs, and the verdicts.

    Two folders may be on one paper. What can be read nowhere is a study of our own.
    """
    run = [paper for paper in board.papers if paper.archive]
    papers = len({paper.address for paper in run if paper.address})
    studies = sum(not paper.address for paper in run)
    run_of_all = [_many(papers, "paper"), _many(studies, "study of our own", "studies of our own")]
    absent = _many(len(board.papers) - len(run), "more paper")
    rest = f" {absent} not run." if absent else ""
    return f"{' and '.join(filter(None, run_of_all))} run. {counted(counts(board.claims))}{rest}"


def _many(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}" if number else ""


def counts(claims: Iterable[BoardClaim]) -> dict[str, int]:
    """The number of claims with each verdict, as on the papers' own pages (``verdicts.counts``)."""
    found = counts_of((claim.verdict, claim.mark) for claim in claims)
    return {**dict.fromkeys(COLUMNS, 0), **found}


def helps(claims: Iterable[BoardClaim]) -> str:
    """The verdicts on the claims that nonlinear gossip helps there: ``1 holds, 2 fails``."""
    numbers = counts(claim for claim in claims if claim.ours)
    return ", ".join(f"{number} {verdict}" for verdict, number in numbers.items() if number)
