"""Whether the parts of an archive agree: provenance, records, rows of runs, tidy tables."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.analysis.universes import Universe, in_universes
from ngo.pipeline.archives.agreement import unequal_row
from ngo.pipeline.archives.archive import Archive
from ngo.pipeline.archives.carried import CARRIED, listed
from ngo.pipeline.archives.crate import crate_fault
from ngo.pipeline.archives.packed_runs import FinishedRun, write_run
from ngo.pipeline.places import tidy_table
from ngo.pipeline.plan import Plan
from ngo.training.earlier import METRICS

if TYPE_CHECKING:
    import pandas as pd


def faults(archive: Archive, planned: Plan) -> Iterator[tuple[str, str | None]]:
    """What was compared without training, each with the first difference in it, if any."""
    members, runs = archive.members, archive.runs
    yield "provenance", crate_fault(members, bool(runs))
    if CARRIED in members or listed(runs.values()):
        agree = members.get(CARRIED) == listed(runs.values()).get(CARRIED)
        yield CARRIED, None if agree else "it does not list what the records say"
    yield "records", next(filter(None, map(_other_final, runs.values())), None)
    with tempfile.TemporaryDirectory(prefix="ngo-verify-") as folder:
        for run in runs.values():
            write_run(Path(folder, run.id), run)
        for name in ("runs", *planned.training):
            member = tidy_table(planned.tier, name)
            specs = planned.runs.values() if name == "runs" else planned.training[name]
            if member in members:
                wanted = {spec.id for spec in specs}
                paths = {run: Path(folder, run, METRICS) for run in sorted(wanted)}
                universes = planned.universes.get(name, ())
                told = planned.mixed_versions
                yield name, _other_table(archive.table(member), paths, told, universes)


def _other_final(run: FinishedRun) -> str | None:
    """The first value by which a record's last evaluation differs from the last row."""
    for name, column in run.columns.items():
        value = column[-1].item()
        wanted = None if value != value or value in (float("inf"), float("-inf")) else value
        if run.record["final"].get(name) != wanted:
            return f"{run.id}: {name} is {value} in its last row, another in its record"
    return None


def _other_table(
    table: pd.DataFrame,
    paths: Mapping[str, Path],
    mixed_versions: str,
    universes: Sequence[Universe],
) -> str | None:
    """The first difference between a tidy table and the one joined from the rows of its runs.

    ``paths`` are the files of these rows by the ids of the runs; ``universes`` are those of the
    table, if it has any.
    """
    import pandas as pd

    from ngo.analysis import results

    if set(table["run"]) != paths.keys():
        return "it has other runs than the config"
    if absent := [run for run, path in paths.items() if not path.exists()]:
        return f"the run {absent[0]} is not in the archive"
    file = io.BytesIO()
    try:
        together = results.aggregate(paths.values(), mixed_versions)
        together = in_universes(together, universes) if universes else together
        together.to_parquet(file, index=False)
    except (ValueError, TypeError, LookupError) as error:
        return f"its runs can't be joined ({' '.join(str(error).split())[:200]})"
    joined = pd.read_parquet(file)
    # Runs with different fields give another order of columns in another order of runs.
    if set(table.columns) != set(joined.columns) or len(table) != len(joined):
        return "it has other columns or rows than its runs"
    for name in joined:
        if (row := unequal_row(table[name], joined[name])) is not None:
            where = f"{name} of {joined['run'][row]} at step {joined['step'][row]}"
            return f"{where} is {table[name][row]} in the table, {joined[name][row]} in the run"
    return None
