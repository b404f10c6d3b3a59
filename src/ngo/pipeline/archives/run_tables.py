"""The tidy tables of experiments, joined from the runs in an archive.

An archive does not contain them, since they follow from its runs. (Archives of earlier versions
do.)
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from pyarrow import parquet

from ngo.analysis.universes import Universe, in_universes
from ngo.common.registry import UserError, in_a_line
from ngo.pipeline.archives import limits
from ngo.pipeline.archives.archive import Archive, refusing
from ngo.pipeline.archives.packed_runs import RECORDS
from ngo.pipeline.places import tidy_table
from ngo.pipeline.plan import Plan
from ngo.training.run_folder import difference
from ngo.training.spec import RunSpec
from ngo.training.tidy import joined

#: The name of the tidy table of all runs.
ALL = "runs"


def run_tables(planned: Plan) -> dict[str, str]:
    """The names of the tidy tables that are joined from runs, by their paths."""
    return {tidy_table(planned.tier, name): name for name in (ALL, *planned.training)}


def specs_of(planned: Plan, name: str) -> list[RunSpec]:
    """The runs of a tidy table; none for one that is not joined from runs."""
    return list(planned.runs.values()) if name == ALL else planned.training.get(name, [])


def needed_tables(archive: Archive, planned: Plan) -> list[str]:
    """The names of those that the archive's tables and figures read."""
    shown = [name for name in archive.about["artefacts"] if name in planned.artefacts]
    read = {table for name in shown for table in planned.tables(name)}
    return [name for name in run_tables(planned).values() if name in read]


def absent_run(archive: Archive, planned: Plan, names: Iterable[str]) -> str | None:
    """The first run of the tables ``names`` that is not in the archive; None if all are."""
    runs = archive.runs if RECORDS in archive.members else {}
    needed = (spec.id for name in names for spec in specs_of(planned, name))
    return next((run for run in needed if run not in runs), None)


def relabelled(archive: Archive, planned: Plan) -> str | None:
    """The first run whose record has another value than the config; None if there is none."""
    for spec in planned.runs.values():
        run = archive.runs.get(spec.id)
        if run is not None and (other := difference(run.about, spec.values())):
            return f"{spec.id}: its record has {other}"
    return None


def joined_tables(
    archive: Archive, planned: Plan, names: Iterable[str]
) -> Iterator[tuple[str, bytes]]:
    """Those of ``names`` that are joined from runs, each with the bytes of the workflow's table.

    Raises a UserError for an absent run, for one whose record is not of the config, for runs that
    can't be joined, and if all tables together are larger than is allowed.
    """
    known, left = run_tables(planned).values(), limits.JOINED
    names = [name for name in names if name in known]
    wrong = relabelled(archive, planned) if names and RECORDS in archive.members else None
    for name in names:
        with refusing(archive.path):
            if wrong:
                raise UserError(wrong)
            if absent := absent_run(archive, planned, [name]):
                raise UserError(f"the run {absent} is not in it")
            left -= _size(archive, planned, name)
            if left < 0:
                raise UserError("the tables of its runs are too large")
            try:
                table = _joined(archive, planned, name)
            except Exception as error:  # whatever pyarrow raises for values that no table has
                raise UserError(f"its runs can't be joined ({in_a_line(error)[:200]})") from None
        yield name, table


def _size(archive: Archive, planned: Plan, name: str) -> int:
    """The bytes of a table with its numbers as text, before it is joined."""
    runs = tuple(spec.id for spec in specs_of(planned, name))
    return sum(
        len(run.columns["step"]) * len(f"{[*run.columns]}{run.facts}{each.values}")
        for each in planned.universes.get(name, [Universe(0, {}, runs)])
        for run in map(archive.runs.__getitem__, each.runs)
    )


def _joined(archive: Archive, planned: Plan, name: str) -> bytes:
    runs = [archive.runs[spec.id] for spec in specs_of(planned, name)]
    each = [(run.columns, run.facts, run.record) for run in runs]
    table = joined(each)
    universes = planned.universes.get(name)
    file = io.BytesIO()
    if universes is None:
        parquet.write_table(table, file)
    else:
        in_universes(table.to_pandas(), universes).to_parquet(file, index=False)
    return file.getvalue()
