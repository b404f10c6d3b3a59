"""The board as Markdown and as one HTML file, made from its tables.

Both are for docs/: links lead to the papers' own pages and to the shipped archives.
"""

from __future__ import annotations

from collections.abc import Iterable

from ngo.report.board_tables import NOT_MEASURED, Board, BoardCell, BoardClaim
from ngo.report.templates import file, rendered
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
        "grid": grid(board),
        "whens": whens(board),
        "evidence": "settings/figures.md#matrix",
        "not_measured": NOT_MEASURED,
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


def grid(board: Board) -> dict[str, dict[str, BoardCell]]:
    """The cells by method, then by setting."""
    found: dict[str, dict[str, BoardCell]] = {}
    for cell in board.cells:
        found.setdefault(cell.method, {})[cell.setting] = cell
    return found


def whens(board: Board) -> list[dict[str, str]]:
    """What to use when: each setting with its methods; nothing if none was measured."""
    found = []
    for setting, cells in board.settings().items():
        best = [cell for cell in cells if cell.best]
        none = "none" if best else ""
        within = "; ".join(cell.method for cell in cells if cell.within and not cell.best)
        found.append(
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
    return found if any(cell.measured for cell in board.cells) else []


def _many(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
