"""Metrics of many runs as tidy tables.

One row is one evaluation of one run, with every field of the run beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from ngo import columns
from ngo.apart import pooled
from ngo.datasets import DATASETS
from ngo.files import whole_file
from ngo.partition_file import COLUMNS
from ngo.registry import UserError
from ngo.statistics import estimate


def aggregate(metrics: Iterable[str | Path]) -> pd.DataFrame:
    """The metrics files of runs as one tidy table, sorted by run and step.

    Raises a UserError for a run that is in two of them.
    """
    tables = []
    files: dict[object, str | Path] = {}
    for path in metrics:
        table, facts = columns.read(path, "metrics", ("step", "diverged"), ("run",))
        if (run := facts["run"]) in files:
            raise UserError(
                f"metrics: the run {run} is in {str(files[run])!r} and in {str(path)!r}; name one."
            )
        files[run] = path
        table.pop("seconds", None)  # metrics of older versions have them
        tables.append(pd.DataFrame({**facts, **table}))
    if not tables:
        raise UserError("metrics: there are no files to aggregate")
    whole = pd.concat([table.dropna(axis=1, how="all") for table in tables], ignore_index=True)
    names = list(dict.fromkeys(name for table in tables for name in table))
    return whole.reindex(columns=names).sort_values(["run", "step"], ignore_index=True)


def write(table: pd.DataFrame, path: str | Path) -> None:
    """Write a tidy table as parquet."""
    with whole_file(path) as temporary:
        table.to_parquet(temporary, index=False)


def final(metrics: pd.DataFrame) -> pd.DataFrame:
    """The last evaluation of every run. A diverged run has no accuracy there: NaN."""
    last = metrics.loc[metrics.groupby("run")["step"].idxmax()].copy()
    scores = [name for name in last if "accuracy" in name or "loss" in name]
    last.loc[last["diverged"], scores] = float("nan")
    return last.reset_index(drop=True)


def check_apart(runs: pd.DataFrame, by: Sequence[str]) -> None:
    """Raise a UserError where two of ``runs``, one a row, agree on all columns ``by`` and the seed:
    they are no seeds of one and the same run.
    """
    twice = runs[runs.duplicated([*by, "seed"], keep=False)]
    for _, same in twice.groupby([*by, "seed"], dropna=False, sort=False):
        raise pooled(by, same["run"][:2])


def over_seeds(rows: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """Mean, standard deviation, 95 % half-width and number of seeds of ``value``."""
    records = [
        {**dict(zip(by, keys, strict=True)), **vars(estimate(group[value].to_numpy()))}
        for keys, group in rows.groupby(by, dropna=False, sort=False)
    ]
    return pd.DataFrame(records)


def class_counts(partitions: Iterable[str | Path]) -> pd.DataFrame:
    """Samples per class and worker of partition files, one row for each pair, zeros included."""
    tables = []
    for path in partitions:
        table, facts = columns.read(path, "partitions", COLUMNS, ("dataset", "workers"))
        found = DATASETS[facts["dataset"]].classes
        if found is None:
            raise UserError(f"partitions: {str(path)!r} is of data without classes.")
        classes = range(found)
        counts = pd.DataFrame(table).groupby(["worker", "label"]).size()
        index = pd.MultiIndex.from_product(
            [range(facts["workers"]), classes], names=["worker", "label"]
        )
        counts = counts.reindex(index, fill_value=0).rename("samples").reset_index()
        tables.append(pd.DataFrame({**facts, **{name: counts[name] for name in counts}}))
    return pd.concat(tables, ignore_index=True)
