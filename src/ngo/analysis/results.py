"""Tidy tables of the metrics of many runs: one row per evaluation, with all fields of its run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd

from ngo.common import versions
from ngo.common.columns import read_columns
from ngo.common.files import atomic_file
from ngo.common.registry import UserError
from ngo.data.dataset import DATASETS
from ngo.training.earlier import record_of
from ngo.training.partition_file import COLUMNS

STARTED = "started"

SECONDS = "seconds"
"""A column that older versions wrote."""

Columns = Mapping[str, np.ndarray]
"""The columns of a run's metrics by name, with one value for every evaluation."""

Facts = Mapping[str, object]
"""What a run's rows have in common: its id, its fields and its sizes."""


def aggregate(metrics: Iterable[str | Path], mixed_versions: str = "refuse") -> pd.DataFrame:
    """Join the metrics files of runs, with the records next to them, into one tidy table.

    The table is that of ``joined``. Raises a UserError if a run occurs in two files.
    """
    runs = []
    files: dict[object, str | Path] = {}
    for path in metrics:
        columns, facts = read_columns(path, "metrics", ("step", "diverged"), ("run",))
        if (run := facts["run"]) in files:
            raise UserError(
                f"metrics: the run {run} is in {str(files[run])!r} and in {str(path)!r}; name one."
            )
        files[run] = path
        runs.append((columns, facts, record_of(Path(path).parent)))
    if not runs:
        raise UserError("metrics: no files given; name at least one.")
    return joined(runs, mixed_versions)


def joined(
    runs: Sequence[tuple[Columns, Facts, Mapping]], mixed_versions: str = "refuse"
) -> pd.DataFrame:
    """One tidy table of the columns, the facts and the record of each run, by run and step.

    If the records say that different versions of a library made the runs, the table has a column
    ``versions``, if ``mixed_versions`` is ``tell``. Raises a UserError otherwise.
    """
    records = [record for _, _, record in runs]
    made_with = _different_versions(records, refuse=mixed_versions == "refuse")
    told = [{"versions": each} for each in made_with] or [{}] * len(runs)
    facts = [{**said, **more} for (_, said, _), more in zip(runs, told, strict=True)]
    columns = [{k: each for k, each in found.items() if k != SECONDS} for found, _, _ in runs]
    sizes = [len(each["step"]) for each in columns]
    said = pd.DataFrame(facts)
    said = said.astype(dict.fromkeys(said.columns[said.isna().all()], float))
    said = said.loc[said.index.repeat(sizes)].reset_index(drop=True)
    measured = dict.fromkeys(name for each in columns for name in each)
    rows = {name: _rows([each.get(name) for each in columns], sizes) for name in measured}
    of_runs = zip(facts, columns, strict=True)  # columns come in the order of their first runs
    names = dict.fromkeys(name for both in of_runs for each in both for name in each)
    table = pd.DataFrame({name: rows.get(name, said.get(name)) for name in names})
    return table.sort_values(["run", "step"], ignore_index=True)


def _rows(parts: Sequence[np.ndarray | None], sizes: Sequence[int]) -> np.ndarray:
    """The parts of a column, one after the other; the part of a run that lacks it is missing."""
    kinds = {part.dtype.kind for part in parts if part is not None}
    lacking = any(part is None for part in parts)
    missing = object if lacking and "b" in kinds else float
    return np.concatenate(
        [
            np.full(size, np.nan, missing) if part is None else part
            for part, size in zip(parts, sizes, strict=True)
        ]
    )


def _different_versions(records: Iterable[Mapping], *, refuse: bool) -> list[str]:
    """For each record, the versions of the libraries in which they differ: ``torch 2.14.0``.

    Empty if they do not differ. An empty record differs from none.
    """
    recorded = [versions.recorded(record) for record in records]
    known = {name: {each.get(name) for each in recorded} for name in versions.LIBRARIES}
    differ = [name for name, found in known.items() if len(found - {None}) > 1]
    if not differ:
        return []
    made_with = [
        ", ".join(f"{name} {found.get(name, 'unknown')}" for name in differ) for found in recorded
    ]
    if refuse:
        raise UserError(
            f"metrics: different versions made the runs: {tally(made_with)}; train them "
            "again with one version, or have tables say it (mixed_versions: tell in the config)."
        )
    return made_with


def tally(values: Iterable[str]) -> str:
    """``torch 2.14.0 (10 runs), torch 2.15.0 (1 run)``, from a value of each run."""
    counts = sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{each} ({count} run{'s' * (count != 1)})" for each, count in counts)


def write(table: pd.DataFrame, path: str | Path, started: datetime | None = None) -> None:
    """Write a tidy table as parquet; a measured one with when it was ``started``, in no column."""
    if started is not None:
        table.attrs[STARTED] = started.isoformat(timespec="seconds")
    with atomic_file(path) as temporary:
        table.to_parquet(temporary, index=False)


def started(path: str | Path) -> object:
    """When the measurement of a table began, as its file says; None if it does not."""
    return pd.read_parquet(path, columns=[]).attrs.get(STARTED)


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
