"""The board: all papers, all claims with their verdicts, and the methods in each setting.

``make board`` writes the three tables as CSV from the shipped archives, and the pages from them, as
Markdown and as one HTML file, for docs/: links lead to the papers' own pages and to the shipped
archives. Texts are printed as on the papers' own pages.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields

from ngo.report.templates import file, rendered
from verdicts.claims.claim import MARKS
from verdicts.row import counted, counts_of
from verdicts.statistics.judgement import ALWAYS, REVERSED, VERDICTS

NOT_MEASURED = "not measured"

#: The verdicts with a column of counts.
COLUMNS = tuple(verdict for verdict in VERDICTS if verdict in (*ALWAYS, REVERSED))


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

    @property
    def anchor(self) -> str:
        """The id of its row on the page of its paper."""
        return f"claim-{self.claim}"


@dataclass(frozen=True)
class BoardCell:
    """A method in a setting, at its best values. Without an estimate it was not measured.

    A condition that does not hold is empty or 0.
    """

    setting: str
    workers: str
    #: β of Dirichlet's distribution; empty for iid data.
    skew: str
    #: The bytes that a worker may send in a run.
    bandwidth: str
    #: The share of slow workers.
    stragglers: str
    #: How many steps a message takes.
    lateness: str
    #: The probability that a link fails in a step.
    failing: str
    #: The number of workers that lie.
    liars: str
    method: str
    measure: str
    #: Accuracy in percent; −inf if runs diverged.
    estimate: float
    #: The lower end of the 95 % interval.
    low: float
    high: float
    seeds: str
    #: Whether no method has a better estimate in the setting; a reference is never the best.
    best: bool
    #: Whether the interval of the paired difference to the best includes 0.
    within: bool
    #: Whether that of the difference to DSGD is above 0.
    beats_dsgd: bool
    #: The best values.
    chosen: str

    @property
    def measured(self) -> bool:
        """Whether there is an estimate."""
        return not math.isnan(self.estimate)

    @property
    def shown(self) -> str:
        """``91.2 [90.5, 91.9]``, or that it was not measured."""
        if not self.measured:
            return NOT_MEASURED
        if math.isinf(self.estimate):
            return "diverged"
        if not math.isfinite(self.high - self.low):
            return f"{self.estimate:.1f}"
        return f"{self.estimate:.1f} [{self.low:.1f}, {self.high:.1f}]"

    @property
    def with_values(self) -> str:
        """The method with its best values: ``NGO (p = 0.9)``."""
        return f"{self.method} ({self.chosen})" if self.chosen else self.method

    @property
    def conditions(self) -> str:
        """The setting in words: ``16 workers, Dirichlet β 0.1``."""
        values = {name: getattr(self, name) for name in CONDITIONS}
        return ", ".join(CONDITIONS[k](text) for k, text in values.items() if text not in ("", "0"))


def _percent(text: str) -> str:
    return f"{100 * float(text):.3g} %"


#: The columns of ``BoardCell`` that describe a setting, and how their values are told.
CONDITIONS: dict[str, Callable[[str], str]] = {
    "workers": lambda text: f"{text} workers",
    "skew": lambda text: f"data skewed by Dirichlet's β = {text}",
    "bandwidth": lambda text: f"{float(text) / 1e6:.3g} MB to send for each worker",
    "stragglers": lambda text: f"{_percent(text)} of the workers slow",
    "lateness": lambda text: f"messages {text} steps late",
    "failing": lambda text: f"{_percent(text)} of the links failing",
    "liars": lambda text: f"{text} of the workers lying",
}


FILES: dict[type, str] = {
    BoardPaper: "papers.csv",
    BoardClaim: "claims.csv",
    BoardCell: "matrix.csv",
}


@dataclass(frozen=True)
class Board:
    """The three tables."""

    papers: tuple[BoardPaper, ...]
    claims: tuple[BoardClaim, ...]
    cells: tuple[BoardCell, ...]

    def files(self) -> dict[str, str]:
        """The content of the CSV files, by name."""
        tables: tuple[tuple, ...] = (self.papers, self.claims, self.cells)
        named = zip(FILES.items(), tables, strict=True)
        return {name: as_csv(kind, rows) for (kind, name), rows in named}

    def claims_of(self, paper: BoardPaper) -> list[BoardClaim]:
        """The claims of a paper."""
        return [claim for claim in self.claims if claim.tier == paper.tier]

    def by(self, column: str) -> dict[str, list[BoardCell]]:
        """The cells by their value in a column, in the order of the table."""
        groups: dict[str, list[BoardCell]] = {}
        for cell in self.cells:
            groups.setdefault(getattr(cell, column), []).append(cell)
        return groups


def as_csv(kind: type, rows: Iterable[object]) -> str:
    """A table of rows of ``kind`` as CSV: six digits for a number, nothing for NaN."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = [field.name for field in fields(kind)]
    writer.writerow(names)
    writer.writerows([_text(getattr(row, name)) for name in names] for row in rows)
    return stream.getvalue()


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
    verdicts = {claim.verdict for claim in board.claims}
    grid = board.by("method")
    return {
        "board": board,
        "told": told(board),
        "columns": COLUMNS,
        "used": [verdict for verdict in VERDICTS if verdict in verdicts],
        "settings": [*board.by("setting")],
        "grid": {method: {cell.setting: cell for cell in grid[method]} for method in grid},
        "whens": whens(board),
        "evidence": "papers/settings.md#matrix",
        "not_measured": NOT_MEASURED,
        "counts": counts,
        "helps": helps,
    }


def told(board: Board) -> str:
    """The numbers of papers and of our own studies, with and without runs, and the verdicts.

    Two folders may be on one paper. What can be read nowhere is a study of our own.
    """
    run = [paper for paper in board.papers if paper.archive]
    numbers = {
        "paper": len({paper.address for paper in run if paper.address}),
        "study of our own": sum(not paper.address for paper in run),
    }
    told = " and ".join(_many(number, name) for name, number in numbers.items() if number)
    absent = len(board.papers) - len(run)
    rest = f" {_many(absent, 'more paper')} not run." if absent else ""
    return f"{told} run. {counted(counts(board.claims))}{rest}"


def _many(number: int, words: str) -> str:
    many = words.replace("study", "studies") if "study" in words else f"{words}s"
    return f"{number} {words if number == 1 else many}"


def counts(claims: Iterable[BoardClaim]) -> dict[str, int]:
    """The number of claims with each verdict, as on the papers' own pages (``verdicts.counts``)."""
    found = counts_of((claim.verdict, claim.mark) for claim in claims)
    return {**dict.fromkeys(COLUMNS, 0), **found}


def helps(claims: Iterable[BoardClaim]) -> str:
    """The verdicts on the claims that nonlinear gossip helps there: ``1 holds, 2 fails``."""
    numbers = counts(claim for claim in claims if claim.ours)
    return ", ".join(f"{number} {verdict}" for verdict, number in numbers.items() if number)


def whens(board: Board) -> list[dict[str, str]]:
    """Each setting with its best methods; empty if none was measured."""
    if not any(cell.measured for cell in board.cells):
        return []
    rows = []
    for setting, cells in board.by("setting").items():
        best = [cell for cell in cells if cell.best]
        none = "none" if best else ""
        within = "; ".join(cell.method for cell in cells if cell.within and not cell.best)
        rows.append(
            {
                "setting": setting,
                "conditions": cells[0].conditions,
                "measure": cells[0].measure,
                "best": "; ".join(cell.with_values for cell in best),
                "within": within or none,
                "beats": "; ".join(cell.method for cell in cells if cell.beats_dsgd) or none,
                "seeds": best[0].seeds if best else "",
            }
        )
    return rows
