"""The tables of the board, from the shipped archives of metrics and the papers' configs.

An archive may be a stranger's: it is checked as in ``ngo rebuild``, and nothing of it runs. The
verdicts are made from its runs and its measurements by this repository's code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ngo.analysis.board import compared_methods
from ngo.pipeline import paths
from ngo.pipeline.archives import archive as archives
from ngo.pipeline.archives.archive import Archive
from ngo.pipeline.archives.unpack import joined_tables
from ngo.pipeline.archives.verify import Group, bases
from ngo.pipeline.config import read_config
from ngo.pipeline.plan import Plan
from ngo.plots.captions import span
from ngo.report.board import Board, Line
from verdicts import judged, judgement
from verdicts.files import content_of, table_in
from verdicts.members import sha256
from verdicts.verdict_rows import Row

#: The table of methods in settings, of the tier ``BOARD``.
MATRIX, BOARD = "matrix", "board"

#: Settings whose names are not those of their tables.
SETTINGS = {"late": "late messages", "failing": "failing links"}


def shipped_board(root: Path, tell: Callable[[str], object]) -> Board:
    """The board of the repository ``root``; ``tell`` gets a line for each archive.

    The tier of README.md is the first; papers that were not run are the last.
    """
    papers: list[Line] = []
    claims: list[Line] = []
    cells: list[Line] = []
    shipped = paths.shipped_metrics(root).items()
    for _, path in sorted(shipped, key=lambda item: (item[0] != paths.FIRST, item)):
        archive = archives.read_archive(path)
        with archives.archived_plan(archive, trusted=False, tell=tell) as planned:
            paper = {
                "page": paths.pages_of(planned.tier)[0],
                "archive": path.relative_to(root).as_posix(),
                "sha256": sha256(content_of(path, "archive")),
                "runs": len(planned.shown_runs),
                "older": archives.OLDER in archive.about,
            }
            papers.append(_described(planned.tier, planned.paper) | paper)
            made = claims_of(planned, archive)
            if planned.tier == BOARD and MATRIX in planned.artefacts:
                cells += cells_of(matrix_of(planned, archive))
        claims += made
        tell(f"{paper['archive']}: {len(made)} claims")
    return Board([*papers, *not_run(root, {paper["tier"] for paper in papers})], claims, cells)


def not_run(root: Path, known: Iterable[str]) -> list[Line]:
    """The papers in papers/ whose tier is not ``known``."""
    files = sorted((root / paths.PAPERS).glob(f"*/{paths.CONFIG.name}"))
    about = {config["tier"]: config["paper"] for config in (read_config([path]) for path in files)}
    none = {"page": "", "archive": "", "sha256": "", "runs": 0, "older": False}
    return [_described(tier, of) | none for tier, of in about.items() if tier not in known]


def _described(tier: str, paper: Mapping[str, str]) -> dict[str, Any]:
    """What a table has of a config's section ``paper``."""
    return {"tier": tier} | {name: paper[name] for name in ("title", "authors", "address", "claim")}


def claims_of(planned: Plan, archive: Archive) -> list[Line]:
    """The claims of an archive, each with its verdict and the scale of what decides it."""
    tables = tables_of(planned, archive, planned.tables(paths.CLAIMS))
    rows = [row for row in judged(planned.ledger, tables) if not row.cell]
    groups = bases([row.claim for row in rows], planned, {})
    return [_claim(row, group, planned, archive) for row, group in zip(rows, groups, strict=True)]


def tables_of(planned: Plan, archive: Archive, names: Sequence[str]) -> dict[str, pd.DataFrame]:
    """The tidy tables of an archive by name: of its runs, and of measurements."""
    joined = {name: table_in(content) for name, content in joined_tables(archive, planned, names)}
    places = {name: paths.tidy_table(planned.tier, name) for name in names if name not in joined}
    return joined | {k: archive.table(p) for k, p in places.items() if p in archive.members}


def _claim(row: Row, group: Group, planned: Plan, archive: Archive) -> Line:
    run = row.verdict != judgement.NOT_RUN
    missed = row.reason.partition(":")[0] if row.verdict == judgement.OUT_OF_SCALE else ""
    return {
        "tier": planned.tier,
        **{name: getattr(row, name) for name in ("claim", "statement", "place", "verdict")},
        "remark": "; ".join(filter(None, [row.mark, missed])),
        **{"effect": row.measured, "interval": row.interval, "seeds": row.counted},
        "scale": scale(group, planned, archive) if run else "",
        "runs": len(group.runs) if run else 0,
    }


def scale(group: Group, planned: Plan, archive: Archive) -> str:
    """``mnist; 16 workers; 600 steps``: what a claim rests on; without runs, what is measured."""
    specs = [planned.runs[run] for run in group.runs if run in archive.runs]
    if not specs:
        kinds = {name.partition("_")[0] for name in group.unchecked}
        return f"no training: {', '.join(sorted(kinds))}" if kinds else ""
    sets = ", ".join(sorted({spec.dataset for spec in specs}))
    ends = [archive.runs[spec.id].record["final"]["step"] for spec in specs]
    numbers = pd.DataFrame({"workers": [spec.workers for spec in specs], "steps": ends})
    workers, steps = numbers.apply(span, form="{:,.0f}")
    return f"{sets}; {workers} workers; {steps} steps"


def matrix_of(planned: Plan, archive: Archive) -> pd.DataFrame:
    """The table of methods in settings, as its notebook makes it."""
    tables = tables_of(planned, archive, planned.tables(MATRIX))
    rows = [
        compared_methods(SETTINGS.get(name, name.replace("_", " ")), tables[Path(path).stem])
        for name, path in planned.inputs(MATRIX).items()
    ]
    return pd.concat(rows, ignore_index=True)


def cells_of(table: pd.DataFrame) -> list[Line]:
    """The rows of the table of methods in settings, with numbers of six digits."""
    short = table.map(lambda value: float(f"{value:.6g}") if isinstance(value, float) else value)
    return short.to_dict("records")
