"""The paper's numbers, and which of them to compare with each of our rows."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.apart import CELL
from ngo.data.dataset import DATASETS
from ngo.data.partition import PARTITIONS


def sole_dataset(reference: str | Path) -> str | None:
    """The data set of the paper's numbers, if all are for the same one."""
    names = pd.read_csv(reference)["dataset"].unique()
    return names[0] if len(names) == 1 else None


def published(reference: str | Path, dataset: str) -> pd.DataFrame:
    """The paper's numbers for ``dataset``, or for the data set that it stands in for.

    If all numbers in the file are for one data set, they are returned for any ``dataset``. The
    column ``partition`` is ``iid`` or ``noniid``.
    """
    name = sole_dataset(reference) or DATASETS[dataset].stands_in_for or dataset
    numbers = pd.read_csv(reference)
    return numbers[numbers["dataset"] == name]


def published_for(rows: pd.DataFrame, reference: str | Path, column: str | None) -> pd.Series:
    """The paper's number in ``column`` for each row, or NaN.

    ``rows`` have the columns ``apart.CELL``.
    """
    halves = [("noniid" if PARTITIONS[name].by_label else "iid") for name in rows["partition"]]
    keys = _keys(rows.assign(partition=halves))
    lookup = {}
    for dataset in rows["dataset"].unique() if column else ():
        printed = published(reference, dataset).assign(dataset=dataset)
        lookup |= dict(zip(_keys(printed), printed[column], strict=True))
    return pd.Series([lookup.get(key, float("nan")) for key in keys], index=rows.index)


def _keys(rows: pd.DataFrame) -> list[tuple]:
    """The data set, half, topology (None if there is none) and method of each row."""
    cells = rows[[*CELL]].astype(object)
    return list(cells.where(cells.notna(), None).itertuples(index=False, name=None))
