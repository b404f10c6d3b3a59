"""The contents of a tier's page of results, from its tables, figures and the records of runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from ngo.figures.declaration import Declared
from ngo.pipeline.archives.archive import ABOUT, OLDER
from ngo.pipeline.archives.claim_basis import bases
from ngo.pipeline.config_files import place, read_config
from ngo.pipeline.paper import REPOSITORY, Paper, config_of
from ngo.pipeline.places import CLAIMS, tier_folder
from ngo.pipeline.plan import Plan, plan
from ngo.report.contents import Contents, Shown, text
from ngo.report.findings import findings
from ngo.report.provenance import provenance
from ngo.report.shipped import SHIPPED, Shipped, read_shipped
from verdicts.registration.registered import as_date, read_registration, registration_path
from verdicts.registration.standing import with_standing
from verdicts.row import Row, read_rows


def report_contents(configs: Sequence[Path]) -> Contents:
    """The contents of the page of the tier that ``configs`` describe.

    The results are read from the working directory; tables and figures are read only when a page is
    made. Raises a UserError for the first file that is absent.
    """
    planned = plan(read_config(configs))
    folder = Path(tier_folder(planned.tier))
    shown = [_shown(entry, folder) for entry in planned.artefacts.values()]
    names = {name for entry in shown for name in entry.names}
    rows = [
        row if row.shows in names else replace(row, shows="")
        for row in read_rows(folder / f"tables/{CLAIMS}.csv")
    ]
    trained = records(planned.shown_runs)
    rows = _registered(rows, planned, trained)
    contents = Contents(
        tier=planned.tier,
        paper=asdict(planned.paper),
        rows=rows,
        findings=findings(rows, planned.findings, present_findings(planned.paper)),
        shown=shown,
        ledger=CLAIMS,
        assumptions=folder / "tables/assumptions",
        shipped=shipped(planned.tier, planned.paper.name),
        older=older(Path(ABOUT)),
        provenance=provenance(trained, map(place, configs), planned.plugins),
    )
    contents.check()
    return contents


def present_findings(paper: Paper) -> Path | None:
    """The file of findings of a paper's folder in the repository; None if it has none."""
    name = read_config([REPOSITORY / config_of(paper.name)]).get("findings")
    return REPOSITORY / name if name else None


def shipped(tier: str, paper: str) -> Shipped | None:
    """The shipped campaign, for the page of another tier of its paper; else None.

    The page of an archive has only what is in the archive.
    """
    if Path(ABOUT).exists() or not SHIPPED.exists():
        return None
    found = read_shipped(SHIPPED)
    return found if found.paper == paper and found.tier != tier else None


def older(path: Path) -> str:
    """The revisions that made an archive, if ``path``, its description, marks it; else empty.

    Results that were not unpacked from an archive have no such file.
    """
    if not path.exists():
        return ""
    return str(json.loads(text(path)).get(OLDER, ""))


def records(runs: Iterable[str]) -> list[dict]:
    """The records of runs, ordered by id."""
    return [json.loads(text(Path(f"results/runs/{run}/run.json"))) for run in sorted(runs)]


def _registered(rows: list[Row], planned: Plan, trained: Iterable[dict]) -> list[Row]:
    """The rows with whether their claims were registered before their first run.

    The first run of a claim is the first of those that decide it. Measurements have no date.
    """
    registration = read_registration(registration_path(planned.claims))
    if registration is None:
        return rows
    started = {each["id"]: as_date("started", each["started"]) for each in trained}
    first = {}
    for group in bases(planned.ledger.claims, planned, {}):
        dates = [started[run] for run in group.runs if run in started]
        if dates:
            first[group.claim] = min(dates)
    return with_standing(rows, planned.ledger, registration, first)


def _shown(entry: Declared, folder: Path) -> Shown:
    return Shown(
        name=entry.name,
        title=entry.title,
        section=entry.section,
        about=entry.text,
        figures=tuple(folder / f"figures/{each}.png" for each in entry.figures),
        tables=tuple(folder / f"tables/{each}" for each in entry.tables),
    )
