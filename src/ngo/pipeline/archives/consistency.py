"""Whether the parts of an archive agree: provenance, records, runs, and tables of experiments."""

from __future__ import annotations

import io
from collections.abc import Iterator

from ngo.pipeline.archives.agreement import unequal_row
from ngo.pipeline.archives.archive import Archive
from ngo.pipeline.archives.crate import crate_fault
from ngo.pipeline.archives.packed_runs import FinishedRun
from ngo.pipeline.archives.run_tables import (
    absent_run,
    joined_tables,
    needed_tables,
    relabelled,
    run_tables,
)
from ngo.pipeline.plan import Plan


def faults(archive: Archive, planned: Plan) -> Iterator[tuple[str, str, str | None]]:
    """What was compared without training, how, and the first difference in it, if any."""
    members, runs = archive.members, archive.runs
    yield "provenance", "it has the sums of the files", crate_fault(members, bool(runs))
    other = next(filter(None, map(_other_final, runs.values())), None)
    wrong = other or relabelled(archive, planned)
    yield "records", "they have the config's values and the last rows of the runs", wrong
    absent = absent_run(archive, planned, needed_tables(archive, planned))
    told = "all that the tables and figures are made from"
    yield "runs", told, f"{absent} is not in the archive" if absent else None
    # An archive of an earlier version has tables of experiments too.
    kept = {name: path for path, name in run_tables(planned).items() if path in members}
    for name, path in kept.items():
        yield name, "as in the runs", _other_table(archive, planned, name, path)


def _other_final(run: FinishedRun) -> str | None:
    """The first value by which a record's last evaluation differs from the last row."""
    for name, column in run.columns.items():
        value = column[-1].item()
        wanted = None if value != value or value in (float("inf"), float("-inf")) else value
        if run.record["final"].get(name) != wanted:
            return f"{run.id}: {name} is {value} in its last row, another in its record"
    return None


def _other_table(archive: Archive, planned: Plan, name: str, path: str) -> str | None:
    """The first difference between a table in the archive and the one joined from its runs."""
    import pandas as pd

    if absent := absent_run(archive, planned, [name]):
        return f"the run {absent} is not in the archive"
    ((_, content),) = joined_tables(archive, planned, [name])
    table, joined = archive.table(path), pd.read_parquet(io.BytesIO(content))
    # Runs with different fields give another order of columns in another order of runs.
    if {*table.columns} != {*joined.columns}:
        return "it has other columns than its runs"
    if {*table["run"]} != {*joined["run"]}:
        return "it has other runs than the config"
    if len(table) != len(joined):
        return "it has other rows than its runs"
    for name in joined:
        if (row := unequal_row(table[name], joined[name])) is not None:
            where = f"{name} of {joined['run'][row]} at step {joined['step'][row]}"
            return f"{where} is {table[name][row]} in the table, {joined[name][row]} in the run"
    return None
