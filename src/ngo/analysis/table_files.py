"""Files of tidy tables, and counts of the classes in files of partitions."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from datetime import datetime
from pathlib import Path

import pandas as pd

from ngo.common.files import write_bytes
from ngo.common.parquet_columns import read_columns
from ngo.common.registries import DATASETS
from ngo.training.partition_file import COLUMNS
from ngo.training.spec import digest
from ngo.training.tidy import read_tidy
from verdicts.files import CHECKSUMS, sealed
from verdicts.registry import UserError

STARTED = "started"


def write(table: pd.DataFrame, path: str | Path, started: datetime | None = None) -> None:
    """Write a tidy table as parquet or, where the path ends so, as CSV.

    The parquet file of a measured one has when it was ``started``, in no column.
    """
    if started is not None:
        table.attrs[STARTED] = started.isoformat(timespec="seconds")
    csv = Path(path).suffix == ".csv"
    write_bytes(path, table.to_csv(index=False).encode() if csv else as_parquet(table))


def as_parquet(table: pd.DataFrame) -> bytes:
    """The content of a tidy table's file."""
    return sealed(table.to_parquet(index=False, **CHECKSUMS))


def started(path: str | Path) -> object:
    """When the measurement of a table began, as its file says; None if it does not."""
    attrs = (read_tidy(path).schema.metadata or {}).get(b"PANDAS_ATTRS", b"{}")
    return json.loads(attrs).get(STARTED)


def class_counts(
    partitions: Iterable[str | Path], ids: Collection[str] | None = None
) -> pd.DataFrame:
    """Samples per class and worker of partition files: one row per pair, zeros included.

    Of files with several partitions, those with these ``ids`` count; by default all.
    """
    wanted = None if ids is None else {run.rpartition("-")[2] for run in ids}
    tables = []
    for path in partitions:
        _, held = read_columns(path, "partitions", COLUMNS, ("partitions",))
        for k, facts in enumerate(held["partitions"]):
            if wanted is not None and digest(facts) not in wanted:
                continue
            table, _ = read_columns(path, "partitions", COLUMNS, group=lambda _, k=k: k)
            count = DATASETS[facts["dataset"]].classes
            if count is None:
                raise UserError(f"partitions: {str(path)!r} partitions data without classes.")
            pairs, names = [range(facts["workers"]), range(count)], ["worker", "label"]
            counts = pd.DataFrame(table).groupby(names).size()
            index = pd.MultiIndex.from_product(pairs, names=names)
            counts = counts.reindex(index, fill_value=0).rename("samples").reset_index()
            tables.append(pd.DataFrame({**facts, **{name: counts[name] for name in counts}}))
    return pd.concat(tables, ignore_index=True)
