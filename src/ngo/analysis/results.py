"""Tidy tables of the metrics of many runs: one row per evaluation, with all fields of its run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from ngo.common import versions
from ngo.common.columns import read_columns
from ngo.common.files import atomic_file
from ngo.common.registry import UserError, in_a_line
from ngo.data.dataset import DATASETS
from ngo.training.earlier import record_of
from ngo.training.partition_file import COLUMNS
from ngo.training.spec import digest

STARTED = "started"

NEEDED = ("step", "diverged")
"""The columns that the metrics of each run have."""

SECONDS = "seconds"
"""A column that older versions wrote."""

Columns = Mapping[str, np.ndarray]
"""The columns of a run's metrics by name, with one value for every evaluation."""

Facts = Mapping[str, object]
"""What a run's rows have in common: its id, its fields and its sizes."""


def aggregate(files: Iterable[str | Path]) -> pd.DataFrame:
    """Join the metrics files of runs, with the records next to them, and tidy tables of runs.

    The table is that of ``joined``. Raises a UserError if a run occurs in two metrics files; of a
    run that several tables have, the first counts.
    """
    runs, tables = [], []
    seen: dict[object, str | Path] = {}
    for path in files:
        if is_tidy(path):
            tables.append(read_tidy(path))
            if not {"run", *NEEDED} <= {*tables[-1]}:
                raise UserError(f"metrics: {str(path)!r} is the wrong file: no metrics of runs.")
            continue
        columns, facts = read_columns(path, "metrics", NEEDED, ("run",))
        if (run := facts["run"]) in seen:
            raise UserError(
                f"metrics: the run {run} is in {str(seen[run])!r} and in {str(path)!r}; name one."
            )
        seen[run] = path
        runs.append((columns, facts, record_of(Path(path).parent)))
    if not runs and not tables:
        raise UserError("metrics: no files given; name at least one.")
    return _together([*tables, *([joined(runs)] if runs else [])])


def is_tidy(path: str | Path) -> bool:
    """Whether a parquet file is a tidy table, and not one of a run or a partition."""
    try:
        return b"ngo" not in (parquet.read_schema(path).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def read_tidy(path: str | Path) -> pd.DataFrame:
    """The tidy table in a file; a UserError for one that can't be read."""
    try:
        return pd.read_parquet(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UserError(f"table: {str(path)!r} is damaged: {in_a_line(error)}.") from None


def joined(runs: Sequence[tuple[Columns, Facts, Mapping]]) -> pd.DataFrame:
    """One tidy table of the columns, the facts and the record of each run, by run and step.

    If the records say that different versions of a library made the runs, the table has a column
    ``versions``.
    """
    made_with = _different_versions(record for _, _, record in runs)
    told = [{"versions": each} for each in made_with] or [{}] * len(runs)
    facts = [{**said, **more} for (_, said, _), more in zip(runs, told, strict=True)]
    columns = [{k: each for k, each in found.items() if k != SECONDS} for found, _, _ in runs]
    sizes = [len(each["step"]) for each in columns]
    said = pd.DataFrame(facts)
    said = said.astype(dict.fromkeys(said.columns[said.isna().all()], float))
    said = said.loc[said.index.repeat(sizes)].reset_index(drop=True)
    measured = dict.fromkeys(name for each in columns for name in each)
    rows = {name: _rows([each.get(name) for each in columns], sizes) for name in measured}
    return _together([pd.DataFrame({**rows, **{name: said[name] for name in said}})])


def _together(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all tables by run and step, each run from the first table that has it.

    Columns are in the order of their names, behind ``run`` and ``step``: it does not depend on how
    runs are divided into tables.
    """
    seen: set[object] = set()
    kept = []
    for each in tables:
        kept.append(each[~each["run"].isin(seen)] if seen else each)
        seen.update(each["run"].unique())
    names = {name for each in kept for name in each}
    ordered = ["run", "step", *sorted(names - {"run", "step"})]
    whole = pd.concat([each["step"] for each in kept], keys=range(len(kept)))
    parts = {}
    for name in ordered:  # a part without values has no say in the type
        having = {k: each[name] for k, each in enumerate(kept) if name in each}
        having = {k: each for k, each in having.items() if not each.isna().all()}
        none = pd.Series(np.nan, whole.index)
        parts[name] = pd.concat(having).reindex(whole.index) if having else none
    return pd.DataFrame(parts).sort_values(["run", "step"], ignore_index=True)


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


def _different_versions(records: Iterable[Mapping]) -> list[str]:
    """For each record, the versions of the libraries in which they differ: ``torch 2.14.0``.

    Empty if they do not differ. An empty record differs from none.
    """
    recorded = [versions.recorded(record) for record in records]
    known = {name: {each.get(name) for each in recorded} for name in versions.LIBRARIES}
    differ = [name for name, found in known.items() if len(found - {None}) > 1]
    if not differ:
        return []
    return [
        ", ".join(f"{name} {found.get(name, 'unknown')}" for name in differ) for found in recorded
    ]


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


def class_counts(
    partitions: Iterable[str | Path], ids: Collection[str] | None = None
) -> pd.DataFrame:
    """Samples per class and worker of partition files: one row per pair, zeros included.

    Of files with several partitions, those with these ``ids`` count; by default all.
    """
    tables = []
    for path, k, facts in _partitions(partitions, ids):
        table, _ = read_columns(path, "partitions", COLUMNS, group=lambda _, k=k: k)
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


def _partitions(
    files: Iterable[str | Path], ids: Collection[str] | None
) -> Iterator[tuple[str | Path, int, dict[str, Any]]]:
    """The partitions in files: the file, the number in it, and the fields."""
    wanted = None if ids is None else {each.rpartition("-")[2] for each in ids}
    for path in files:
        _, facts = read_columns(path, "partitions", COLUMNS, ("partitions",))
        for k, fields in enumerate(facts["partitions"]):
            if wanted is None or digest(fields) in wanted:
                yield path, k, fields
