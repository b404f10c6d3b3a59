"""Tidy tables of the metrics of many runs: one row per evaluation, with all fields of its run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from ngo.common.columns import read_columns
from ngo.common.files import atomic_file
from ngo.common.registry import UserError
from ngo.data.dataset import DATASETS
from ngo.training.partition_file import COLUMNS


def aggregate(metrics: Iterable[str | Path]) -> pd.DataFrame:
    """Join the metrics files of runs into one tidy table, sorted by run and step.

    Raises a UserError if a run occurs in two files.
    """
    tables = []
    files: dict[object, str | Path] = {}
    for path in metrics:
        table, facts = read_columns(path, "metrics", ("step", "diverged"), ("run",))
        if (run := facts["run"]) in files:
            raise UserError(
                f"metrics: the run {run} is in {str(files[run])!r} and in {str(path)!r}; name one."
            )
        files[run] = path
        table.pop("seconds", None)  # written by older versions
        tables.append(pd.DataFrame({**facts, **table}))
    if not tables:
        raise UserError("metrics: no files given; name at least one.")
    whole = pd.concat([table.dropna(axis=1, how="all") for table in tables], ignore_index=True)
    names = list(dict.fromkeys(name for table in tables for name in table))
    return whole.reindex(columns=names).sort_values(["run", "step"], ignore_index=True)


def write(table: pd.DataFrame, path: str | Path) -> None:
    """Write a tidy table as parquet."""
    with atomic_file(path) as temporary:
        table.to_parquet(temporary, index=False)


def class_counts(partitions: Iterable[str | Path]) -> pd.DataFrame:
    """Samples per class and worker of partition files: one row per pair, zeros included."""
    tables = []
    for path in partitions:
        table, facts = read_columns(path, "partitions", COLUMNS, ("dataset", "workers"))
        found = DATASETS[facts["dataset"]].classes
        if found is None:
            raise UserError(f"partitions: {str(path)!r} partitions data without classes.")
        classes = range(found)
        counts = pd.DataFrame(table).groupby(["worker", "label"]).size()
        index = pd.MultiIndex.from_product(
            [range(facts["workers"]), classes], names=["worker", "label"]
        )
        counts = counts.reindex(index, fill_value=0).rename("samples").reset_index()
        tables.append(pd.DataFrame({**facts, **{name: counts[name] for name in counts}}))
    return pd.concat(tables, ignore_index=True)
