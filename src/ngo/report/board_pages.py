"""The board as Markdown and as one HTML file, made from its tables.

Both are for docs/: links lead to the papers' own pages and to the shipped archives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ngo.report.board_tables import NOT_MEASURED, Board, BoardCell, BoardClaim, BoardPaper
from ngo.report.contents import text
from ngo.report.html_page import FOLDER, environment
from verdicts.counts import counted, counts_of
from verdicts.render.markdown import escaped
from verdicts.statistics.judgement import (
    EQUIVALENT,
    FAILS,
    HOLDS,
    NOT_RUN,
    OVER_UNIVERSES,
    UNDECIDED,
    VERDICTS,
)

EVIDENCE = "settings/figures.md#matrix"
"""The place in docs/ that shows what the matrix is made from."""

MARKDOWN = """\
# The board

The claims of papers on decentralized learning, judged by the same tests on runs of the same code.
{counted} `make board`
writes this page, [the same as one HTML file](board.html) and their tables
([papers](../src/ngo/report/tables/papers.csv), [claims](../src/ngo/report/tables/claims.csv),
[methods in settings](../src/ngo/report/tables/matrix.csv)) from the shipped archives.
[verdicts.md](verdicts.md) explains verdicts. `ngo advise --workers 32 --skew 0.1` answers from the
table of methods in settings.

## What to use when

{when}

## Papers

“φ_p helps there” are our own claims: does nonlinear gossip help where the paper has linear gossip?

{table}

## Claims

The effect is the estimate over seeds, paired within the seed, with a 95 % interval; n is the number
of seeds, or of a theorem's cases. Runs are those that decide the claim. Each id links to the
evidence.

{claims}"""

WHEN = """\
Each row is a setting with the method of the best estimate. Others may be as good: the 95 % interval
of their paired difference to it includes 0. Each method has its own best values, chosen on held-out
samples. [The evidence]({evidence}) has all numbers.

{best}

All methods, in percent, with 95 % intervals. **Bold** is the best of a setting; ≈ may be as good.

{matrix}"""


def as_markdown(board: Board) -> str:
    """The page as Markdown."""
    return MARKDOWN.format(
        counted=told(board),
        when=_when(board),
        table=_papers(board),
        claims="\n".join(_claims(paper, board) for paper in board.papers),
    )


def as_html(board: Board) -> str:
    """The page as one HTML file that needs no other but for its links."""
    template = environment(counts=counts, helps=helps).get_template("board.html.jinja")
    used = [each for each in KNOWN if any(row.verdict == each for row in board.claims)]
    page = template.render(
        board=board,
        told=told(board),
        columns=COLUMNS,
        used=used,
        grid=grid(board),
        whens=whens(board),
        evidence=EVIDENCE,
        not_measured=NOT_MEASURED,
        style=Markup(text(FOLDER / "page.css")),
        script=Markup(text(FOLDER / "page.js")),
    )
    return page + "\n"


COLUMNS = (HOLDS, FAILS, EQUIVALENT, UNDECIDED, NOT_RUN)
"""The verdicts that the table of papers counts."""

KNOWN = (*VERDICTS, *OVER_UNIVERSES)


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


@dataclass(frozen=True)
class When:
    """A setting, and the methods to use in it."""

    setting: str
    conditions: str
    measure: str
    best: str
    """The best method with its values; empty if nothing was measured."""
    within: str
    """Those whose difference to it may be 0."""
    beats: str
    """Those that are better than DSGD."""
    seeds: str


def whens(board: Board) -> list[When]:
    """What to use when: each setting of the table."""
    return [_when_of(name, cells) for name, cells in board.settings().items()]


def _when_of(setting: str, cells: Sequence[BoardCell]) -> When:
    best = [cell for cell in cells if cell.best]
    none = "none" if best else ""
    return When(
        setting,
        cells[0].conditions,
        cells[0].measure,
        "; ".join(cell.with_values for cell in best),
        "; ".join(cell.method for cell in cells if cell.within and not cell.best) or none,
        "; ".join(cell.method for cell in cells if cell.beats_dsgd) or none,
        best[0].seeds if best else "",
    )


def _when(board: Board) -> str:
    """The best methods of each setting, and the matrix."""
    if not any(cell.measured for cell in board.cells):
        return "Not measured: no archive of the settings is shipped yet."
    best = [
        {
            "Setting": f"[{escaped(when.setting)}]({EVIDENCE})",
            "Conditions": escaped(when.conditions),
            "Best": escaped(when.best) or NOT_MEASURED,
            "May be as good": escaped(when.within),
            "Better than DSGD": escaped(when.beats),
            "Measured": escaped(when.measure),
            "Seeds": escaped(when.seeds),
        }
        for when in whens(board)
    ]
    rows = [
        {"Method": escaped(method)}
        | {escaped(name): _cell(cells.get(name)) for name in board.settings()}
        for method, cells in grid(board).items()
    ]
    return WHEN.format(evidence=EVIDENCE, best=_table(best), matrix=_table(rows))


def _cell(cell: BoardCell | None) -> str:
    if cell is None or not cell.measured:
        return NOT_MEASURED
    shown = escaped(cell.shown)
    return f"**{shown}**" if cell.best else f"≈ {shown}" if cell.within else shown


def _papers(board: Board) -> str:
    rows = []
    for paper in board.papers:
        claims = board.claims_of(paper)
        number = counts(claims)
        title = escaped(paper.title)
        linked = f"[{title}](<{paper.address}>)" if paper.address else title
        linked = f"{linked} ({escaped(paper.tier)})"
        numbers = {each: str(number[each]) if paper.archive else "" for each in COLUMNS}
        rows.append(
            {"Paper": linked, "Its claim": escaped(paper.claim), **numbers}
            | {"φ_p helps there": helps(claims), "Runs": str(paper.runs or "")}
            | {"Evidence": _evidence(paper)}
        )
    return _table(rows)


def _evidence(paper: BoardPaper) -> str:
    if not paper.archive:
        return NOT_RUN
    older = ", made by an earlier revision" if paper.older else ""
    return f"[page]({paper.page}.md), [archive](../{paper.archive}){older}"


def _claims(paper: BoardPaper, board: Board) -> str:
    """The heading of a paper, and its claims."""
    head = f"### {escaped(paper.title)}\n\n"
    if not paper.archive:
        return f"{head}{escaped(paper.authors)}. Not run.\n"
    rows = [
        {
            "Claim": f"[{escaped(claim.claim)}]({paper.page}/claims.md#{claim.anchor})",
            "What it says": escaped(claim.statement),
            "Verdict": claim.verdict + escaped(f"; {claim.remark}" if claim.remark else ""),
            "Effect": escaped(claim.effect),
            "95 % interval": escaped(claim.interval),
            "n": escaped(claim.seeds),
            "Scale": escaped(claim.scale),
            "Runs": str(claim.runs or ""),
        }
        for claim in board.claims_of(paper)
    ]
    return f"{head}{escaped(paper.authors)}. {_evidence(paper)}.\n\n{_table(rows)}\n"


def _table(rows: Sequence[Mapping[str, str]]) -> str:
    """A pipe table without padding."""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(row.values() for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _many(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
