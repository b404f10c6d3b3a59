"""Tidy tables of the metrics of many runs: one row per evaluation, with all fields of its run.

They are pyarrow's, since every job makes one and pandas takes longer to import than to do this.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from ngo.common.files import write_bytes
from ngo.common.parquet_columns import column, read_columns, repeated
from verdicts.files import CHECKSUMS, content_of, opened, sealed
from verdicts.registry import UserError, in_a_line

#: The columns that the metrics of each run have.
NEEDED = ("step", "diverged")

#: The columns of a run's metrics by name, with one value for every evaluation.
Columns = Mapping[str, np.ndarray]

#: What a run's rows have in common: its id, its fields and its sizes.
Facts = Mapping[str, object]


def aggregate(files: Iterable[str | Path]) -> pa.Table:
    """Join the metrics files of runs, and tidy tables of runs.

    The table is that of ``joined``. Raises a UserError if a run occurs in two metrics files; else,
    of a run that several files have, the first counts.
    """
    tables = []
    seen: dict[object, str | Path] = {}
    for path in files:
        table = read_tidy(path)
        if b"ngo" in (table.schema.metadata or {}):  # the file of one run
            columns, facts = read_columns(path, "metrics", NEEDED, ("run",))
            if (run := facts["run"]) in seen:
                both = f"{str(seen[run])!r} and in {str(path)!r}"
                raise UserError(f"metrics: the run {run} is in {both}; name one.")
            seen[run] = path
            table = joined([(columns, facts)])
        elif not {"run", *NEEDED} <= {*table.column_names}:
            raise UserError(f"metrics: {str(path)!r} is the wrong file: no metrics of runs.")
        tables.append(table)
    if not tables:
        raise UserError("metrics: no files given; name at least one.")
    return _together(tables)


def joined(runs: Sequence[tuple[Columns, Facts]]) -> pa.Table:
    """One tidy table of the columns and the facts of each run, by run and step."""
    tables = []
    for columns, facts in runs:
        measured = {name: column(values) for name, values in columns.items()}
        same = {name: repeated(value, len(columns["step"])) for name, value in facts.items()}
        tables.append(pa.table(measured | same))
    return _together(tables)


def write_tidy(table: pa.Table, path: str | Path) -> None:
    """Write a tidy table as parquet."""
    write_bytes(path, as_parquet(table))


def as_parquet(table: pa.Table) -> bytes:
    """The content of a tidy table's file."""
    content = io.BytesIO()
    parquet.write_table(table, content, **CHECKSUMS)
    return sealed(content.getvalue())


class Damaged(UserError):
    """A file that is not, or no longer, a Parquet file."""


def read_tidy(path: str | Path) -> pa.Table:
    """The tidy table in a file; a UserError for one that can't be read, or is Damaged."""
    content = content_of(Path(path), "table")
    try:
        return opened(content).read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        why = f"is damaged: {in_a_line(error)}."
        if not content.startswith(b"PAR1"):
            why = "is no Parquet file; plots.tidy takes the table that pandas.read_csv reads."
        raise Damaged(f"table: {str(path)!r} {why}") from None


def _together(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of all tables by run and step, each run from the first table that has it.

    Columns are in the order of their names, behind ``run`` and ``step``: neither it nor their types
    depend on how runs are divided into tables.
    """
    seen: set[str] = set()
    kept = []
    for table in tables:
        runs = set(table["run"].unique().to_pylist())
        if runs & seen:
            known = pa.array(sorted(runs & seen))
            table = table.filter(pc.invert(pc.is_in(table["run"], value_set=known)))
        seen |= runs
        # Columns without a value have no say in a type.
        filled = [name for name in table.column_names if table[name].null_count < len(table)]
        kept.append(table.select(filled))
    whole = pa.concat_tables(kept, promote_options="permissive").replace_schema_metadata()
    names = {name for table in tables for name in table.column_names}
    for name in names - set(whole.column_names):  # of no run is there a value
        whole = whole.append_column(name, pa.nulls(len(whole), pa.float64()))
    order = ["run", "step", *sorted(names - {"run", "step"})]
    return whole.select(order).sort_by([("run", "ascending"), ("step", "ascending")])
