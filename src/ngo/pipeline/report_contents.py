"""The contents of a tier's page of results, from its tables, figures and the records of runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from pathlib import Path

from ngo.analysis.cases import worded
from ngo.analysis.table_files import started
from ngo.common.registries import PARTITIONS
from ngo.pipeline import candidates, printed_numbers
from ngo.pipeline.archives.archive import OLDER
from ngo.pipeline.archives.verify import Group, bases
from ngo.pipeline.config import read_config
from ngo.pipeline.paths import CLAIMS, RUNS, archived_name, tidy_table, tier_folder
from ngo.pipeline.plan import Plan, plan
from ngo.report import contents
from ngo.report.findings import findings
from ngo.training.run_folder import RECORD
from verdicts import read_tables
from verdicts.members import ABOUT
from verdicts.registration import as_date, read_registration, registration_path, with_standing
from verdicts.registry import UserError
from verdicts.reproduction import reproduce
from verdicts.verdict_rows import read_rows


def report_contents(configs: Sequence[Path]) -> contents.Contents:
    """The contents of the page of the tier that ``configs`` describe.

    The results are read from the working directory; tables and figures are read only when a page is
    made. Raises a UserError for the first file that is absent.
    """
    planned = plan(read_config(configs))
    folder = Path(tier_folder(planned.tier))
    shown = []
    for entry in planned.artefacts.values():
        figures = [folder / f"figures/{entry.name}.png"] * entry.figure
        tables = [folder / f"tables/{table}" for table in entry.tables]
        facts = entry.name, entry.title, entry.section, entry.text
        shown.append(contents.Shown(*facts, tuple(figures), tuple(tables)))
    names = {name for entry in shown for name in entry.names}
    rows = [
        row if row.shows in names else replace(row, shows="")
        for row in read_rows(folder / f"tables/{CLAIMS}.csv")
    ]
    trained = [json.loads(contents.text(RUNS / run / RECORD)) for run in planned.shown_runs]
    registration = read_registration(registration_path(planned.claims))
    groups = bases(planned.ledger.claims, planned, {})
    began = _first_runs(planned, trained, groups)
    rows = with_standing(rows, planned.ledger, registration, began)
    # The description of the archive, if the results were unpacked from one.
    about = json.loads(contents.text(Path(ABOUT))) if Path(ABOUT).exists() else {}
    return contents.Contents(
        tier=planned.tier,
        paper=planned.paper,
        rows=rows,
        findings=findings(rows, planned.findings, cache(partial(setting, planned, groups))),
        cells=read_rows(folder / f"tables/{CLAIMS}_cells.csv"),
        shown=shown,
        ledger=CLAIMS,
        assumptions=folder / "tables/assumptions",
        shipped=shipped(planned.tier, planned.paper["name"]) if planned.findings else None,
        older=str(about.get(OLDER, "")),
        provenance=contents.provenance(trained, map(archived_name, configs), planned.plugins),
    )


def shipped(tier: str, paper: str) -> contents.Shipped | None:
    """The shipped campaign, for the page of another tier of its paper; else None.

    The page of an archive has only what is in the archive.
    """
    if Path(ABOUT).exists() or not contents.SHIPPED.exists():
        return None
    campaign = contents.read_shipped(contents.SHIPPED)
    return campaign if campaign.paper == paper and campaign.tier != tier else None


def setting(planned: Plan, groups: Iterable[Group], claim: str, name: str) -> str:
    """The value of a field in a claim, in words: ``0.2``, ``4 to 64``, ``random``.

    It is that of all runs that the claim compares. ``of.gamma`` is the value on one side, ``data``
    names the data set and the partition, and ``margin`` is the claim's. ``weighed`` is the share of
    a claim over universes (``ngo candidates``), and ``printed`` how many printed numbers agree
    (``ngo reproduce``). A UserError for a field that the claim does not have.
    """
    if name in FROM_TABLES:
        return FROM_TABLES[name](planned, claim)
    asked, (side, _, field) = planned.ledger.claims[claim], name.rpartition(".")
    runs = [planned.runs[run] for group in groups if group.claim == claim for run in group.runs]
    values: set[object] = {getattr(run, name, None) for run in runs}
    if name == "margin" and asked.expectation:
        values = {asked.expectation.margin}
    elif side:
        values = {dict(asked.arguments.get(side) or {}).get(field)}  # type: ignore[call-overload]
    elif name == "data":
        halves = [(PARTITIONS[run.partition].by_label, run.dataset) for run in runs]
        values = {f"{'non-' * by}iid {worded(data)}" for by, data in halves}
    known = sorted(value for value in values if isinstance(value, int | float | str))
    if not known or (len(known) > 1 and isinstance(known[0], str)):
        raise UserError(f"findings: {claim!r} has no {name!r} that is one value.")
    words = [value if isinstance(value, str) else f"{value:g}" for value in known]
    return " to ".join(dict.fromkeys([words[0], words[-1]]))


def _weighed(planned: Plan, claim: str) -> str:
    """``45 % [32, 59]``: each universe counts by how likely it would have printed other numbers."""
    entry, *_ = (e for e in planned.config["unstated"].values() if claim in e.get("claims", {}))
    names = {*planned.ledger.claims[claim].tables, *entry["runs"]}
    tables = read_tables(f"{tier_folder(planned.tier)}/metrics", names)
    numbers = printed_numbers.on_numbers(planned.ledger)
    of_runs = {name: tables[name] for name in entry["runs"] if name in tables}
    study = candidates.study(entry, numbers, of_runs)
    row: dict[str, str] = next(candidates.shares(study, planned.ledger, tables, claim))
    return row["weighed"]


def _printed(planned: Plan, _: str) -> str:
    """``21 of 43 printed numbers and 12 of 19 gaps``: those inside their prediction intervals."""
    numbers = printed_numbers.on_numbers(planned.ledger)
    tables = read_tables(f"{tier_folder(planned.tier)}/metrics", numbers.tables)
    printed, measured = printed_numbers.printed_and_measured(numbers, tables)
    found = reproduce(measured, printed, gaps=("method", "gossip"))
    return found.inside


#: Of the fields that a slot may have, those that are computed from tables.
FROM_TABLES = {"weighed": _weighed, "printed": _printed}


def _first_runs(
    planned: Plan, trained: Iterable[dict], groups: Iterable[Group]
) -> dict[str, datetime]:
    """When the first of the runs and measurements that decide a claim began, where it is known.

    Measured tables of earlier releases do not say it.
    """
    began = {run["id"]: run["started"] for run in trained}
    for kind, entries in planned.measures.items():
        for name in entries:
            path = Path(tidy_table(planned.tier, f"{kind}_{name}"))
            began[f"{kind}_{name}"] = started(path) if path.exists() else None
    first = {}
    for group in groups:
        dates = filter(None, map(began.get, (*group.runs, *group.unchecked)))
        if starts := [as_date("started", date) for date in dates]:
            first[group.claim] = min(starts)
    return first
