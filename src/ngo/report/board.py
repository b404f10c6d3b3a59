"""The board: all papers, and all claims with their verdicts.

``make board`` writes both tables as CSV from the shipped archives, and the pages from them, as
Markdown and as one HTML file, for docs/: links lead to the papers' own pages and to the shipped
archives. Texts are printed as on the papers' own pages.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, fields

from ngo.report.templates import file, rendered
from verdicts.claims.claim import MARKS
from verdicts.counts import counted, counts_of
from verdicts.statistics.judgement import (
    EQUIVALENT,
    FAILS,
    HOLDS,
    NOT_RUN,
    OVER_UNIVERSES,
    UNDECIDED,
    VERDICTS,
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
    #: The name of its page in docs/; empty if it was not run.
    page: str = ""
    #: The path of its archive in the repository; empty if it was not run.
    archive: str = ""
    #: That of the archive.
    sha256: str = ""
    runs: int = 0
    #: Whether the archive is marked as made by an earlier revision of the code.
    older: bool = False


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


FILES: dict[type, str] = {
    BoardPaper: "papers.csv",
    BoardClaim: "claims.csv",
}


@dataclass(frozen=True)
class Board:
    """The two tables."""

    papers: tuple[BoardPaper, ...]
    claims: tuple[BoardClaim, ...]

    def files(self) -> dict[str, str]:
        """The content of the CSV files, by name."""
        return {
            FILES[kind]: as_csv(kind, rows)
            for kind, rows in ((BoardPaper, self.papers), (BoardClaim, self.claims))
        }

    def claims_of(self, paper: BoardPaper) -> list[BoardClaim]:
        """The claims of a paper."""
        return [each for each in self.claims if each.tier == paper.tier]


def as_csv(kind: type, rows: Iterable[object]) -> str:
    """A table of rows of ``kind`` as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = [field.name for field in fields(kind)]
    writer.writerow(names)
    writer.writerows([_text(getattr(row, name)) for name in names] for row in rows)
    return stream.getvalue()


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return " ".join(str(value).split())


#: The verdicts that the table of papers counts.
COLUMNS = (HOLDS, FAILS, EQUIVALENT, UNDECIDED, NOT_RUN)


def as_markdown(board: Board) -> str:
    """The page as Markdown."""
    return rendered("board.md.jinja", **_values(board))


def as_html(board: Board) -> str:
    """The page as one HTML file that needs no other but for its links."""
    style, script = file("page.css"), file("page.js")
    return rendered("board.html.jinja", style=style, script=script, **_values(board))


def _values(board: Board) -> dict[str, object]:
    verdicts = {claim.verdict for claim in board.claims}
    return {
        "board": board,
        "told": told(board),
        "columns": COLUMNS,
        "used": [each for each in (*VERDICTS, *OVER_UNIVERSES) if each in verdicts],
        "counts": counts,
        "helps": helps,
    }


def told(board: Board) -> str:
    """How many papers were run, the verdicts on their claims, and how many were not run."""
    run = sum(bool(paper.archive) for paper in board.papers)
    absent = len(board.papers) - run
    rest = f" {_many(absent, 'more paper')} not run." if absent else ""
    return f"{_many(run, 'paper')} run. {counted(counts(board.claims))}{rest}"


def counts(claims: Iterable[BoardClaim]) -> dict[str, int]:
    """The number of claims with each verdict, as on the papers' own pages (``verdicts.counts``)."""
    return counts_of((claim.verdict, claim.mark) for claim in claims)


def helps(claims: Iterable[BoardClaim]) -> str:
    """The verdicts on the claims that nonlinear gossip helps there: ``1 holds, 2 fails``."""
    found = counts(claim for claim in claims if claim.ours)
    return ", ".join(f"{number} {verdict}" for verdict, number in found.items() if number)


def _many(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
