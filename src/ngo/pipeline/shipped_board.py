"""The tables of the board, from the shipped archives of metrics and the papers' configs.

An archive may be a stranger's: it is checked as in ``ngo rebuild``, and nothing of it runs. The
verdicts are made from its runs and its measurements by this repository's code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from ngo.analysis import table_files
from ngo.pipeline import paths
from ngo.pipeline.archives import archive as archives
from ngo.pipeline.archives.archive import Archive
from ngo.pipeline.archives.members import sha256
from ngo.pipeline.archives.unpack import joined_tables
from ngo.pipeline.archives.verify import Group, bases
from ngo.pipeline.config import read_config
from ngo.pipeline.notebooks import execute
from ngo.pipeline.paper_figures import Paper
from ngo.pipeline.plan import Plan
from ngo.report.board import Board, BoardClaim, BoardPaper, Cell
from verdicts import judged, judgement
from verdicts.files import content_of, table_in
from verdicts.row import Row

#: The table of methods in settings, of the tier ``SETTINGS``.
MATRIX = "matrix"

SETTINGS = "board"


def shipped_board(root: Path, tell: Callable[[str], object]) -> Board:
    """The board of the repository ``root``; ``tell`` gets a line for each archive.

    The tier of README.md is the first; papers that were not run are the last.
    """
    papers: list[BoardPaper] = []
    claims: list[BoardClaim] = []
    cells: list[Cell] = []
    shipped = paths.shipped_metrics(root).items()
    for _, path in sorted(shipped, key=lambda item: (item[0] != paths.FIRST, item)):
        archive = archives.read_archive(path)
        with archives.archived_plan(archive, trusted=False, tell=tell) as planned:
            paper = _paper(planned.tier, planned.paper, page=paths.pages_of(planned.tier)[0])
            place, digest = path.relative_to(root).as_posix(), sha256(content_of(path, "archive"))
            older, runs = archives.OLDER in archive.about, len(planned.shown_runs)
            papers.append(replace(paper, archive=place, sha256=digest, runs=runs, older=older))
            claims += claims_of(planned, archive)
            if planned.tier == SETTINGS and MATRIX in planned.artefacts:
                cells += cells_of(matrix_of(planned, archive))
        tell(f"{papers[-1].archive}: {sum(claim.tier == planned.tier for claim in claims)} claims")
    papers += not_run(root, {paper.tier for paper in papers})
    return Board(papers, claims, cells)


def not_run(root: Path, known: Iterable[str]) -> list[BoardPaper]:
    """The papers in papers/ whose tier is not ``known``."""
    files = sorted((root / paths.PAPERS).glob(f"*/{paths.CONFIG.name}"))
    about = {config["tier"]: config["paper"] for config in (read_config([path]) for path in files)}
    return [_paper(tier, Paper(**of)) for tier, of in about.items() if tier not in known]


def _paper(tier: str, paper: Paper, **run: Any) -> BoardPaper:
    return BoardPaper(tier, paper.title, paper.authors, paper.address, paper.claim, **run)


def claims_of(planned: Plan, archive: Archive) -> list[BoardClaim]:
    """The claims of an archive, each with its verdict and the scale of what decides it."""
    tables = tables_of(planned, archive, planned.tables(paths.CLAIMS))
    rows = [row for row in judged(planned.ledger, tables) if not row.cell]
    groups = bases([row.claim for row in rows], planned, {})
    return [_claim(row, group, planned, archive) for row, group in zip(rows, groups, strict=True)]


def tables_of(planned: Plan, archive: Archive, names: Iterable[str]) -> dict[str, pd.DataFrame]:
    """The tidy tables of an archive by name: of its runs, and of measurements."""
    names = list(names)
    tables = joined_tables(archive, planned, names)
    joined = {name: table_in(content) for name, content in tables}
    places = {name: paths.tidy_table(planned.tier, name) for name in names if name not in joined}
    return joined | {k: archive.table(p) for k, p in places.items() if p in archive.members}


def _claim(row: Row, group: Group, planned: Plan, archive: Archive) -> BoardClaim:
    run = row.verdict != judgement.NOT_RUN
    missed = row.reason.partition(":")[0] if row.verdict == judgement.OUT_OF_SCALE else ""
    same = ("claim", "statement", "place", "verdict", "interval")
    return BoardClaim(
        tier=planned.tier,
        **{name: getattr(row, name) for name in same},
        remark="; ".join(filter(None, [row.mark or "", missed])),
        effect=row.measured,
        seeds=row.counted,
        scale=scale(group, planned, archive) if run else "",
        runs=len(group.runs) if run else 0,
    )


def scale(group: Group, planned: Plan, archive: Archive) -> str:
    """``mnist; 16 workers; 600 steps``: what a claim rests on; without runs, what is measured."""
    specs = [planned.runs[run] for run in group.runs if run in archive.runs]
    if not specs:
        kinds = {name.partition("_")[0] for name in group.unchecked}
        return f"no training: {', '.join(sorted(kinds))}" if kinds else ""
    steps = {archive.runs[spec.id].record["final"]["step"] for spec in specs}
    sets = ", ".join(sorted({spec.dataset for spec in specs}))
    workers = _range([spec.workers for spec in specs], "workers")
    return f"{sets}; {workers}; {_range(steps, 'steps')}"


def _range(values: Iterable[float], unit: str) -> str:
    low, high = min(values), max(values)
    return f"{low:,.0f} {unit}" if low == high else f"{low:,.0f} to {high:,.0f} {unit}"


def matrix_of(planned: Plan, archive: Archive) -> pd.DataFrame:
    """The table of methods in settings, made by its notebook in the repository.

    Its tidy tables are written to the working directory.
    """
    for name, table in tables_of(planned, archive, planned.tables(MATRIX)).items():
        table_files.write(table, paths.tidy_table(planned.tier, name))
    given = [f"{name}={value}" for name, value in planned.parameters(MATRIX).items()]
    execute(planned.artefacts[MATRIX].notebook, Path(f"{MATRIX}.ipynb"), given)
    made = f"{paths.tier_folder(planned.tier)}/tables/{MATRIX}.csv"
    return pd.read_csv(made).drop(columns="tier")


def cells_of(table: pd.DataFrame) -> list[dict]:
    """The rows of the table of methods in settings, with numbers of six digits."""

    def short(value: object) -> object:
        return float(f"{value:.6g}") if isinstance(value, float) else value

    texts = table["chosen"].astype(object).fillna("")
    return table.assign(chosen=texts).map(short).to_dict("records")
