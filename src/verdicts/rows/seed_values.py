"""Numbers of runs put side by side by seed: one row for each seed, one column for each choice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from verdicts.lazy import pd
from verdicts.registry import UserError
from verdicts.rows.evaluations import Value, per_run
from verdicts.rows.selection import Selection, complete, need, selected

#: Fields in which two runs differ that a message names.
MOST_FIELDS = 3

_NOTED: ContextVar[list[pd.DataFrame] | None] = ContextVar("noted", default=None)


@contextmanager
def noted_runs() -> Iterator[list[pd.DataFrame]]:
    """A list of the runs that are put side by side meanwhile.

    Columns: ``seed``, ``run``, ``value``, ``diverged``, and ``left_out``: a quantity can't use the
    run (log V where V is 0).
    """
    noted: list[pd.DataFrame] = []
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


def runs_by_seed(rows: pd.DataFrame, value: Value, over: Sequence[str] = ()) -> pd.DataFrame:
    """The last evaluation of every run, with its ``value`` and, as ``key``, its fields ``over``.

    A key is the tuple of these fields; a missing one is None. Raises a UserError if two runs of a
    seed have the same key, and without the column ``seed``, or a value in it.
    """
    fields = list(over)
    need(rows, ["seed"])
    complete(rows, ["seed"])
    need(rows, fields, "over: ")
    runs = per_run(rows, value)
    keys = [
        tuple(None if pd.isna(part) else part for part in key)
        for key in runs[fields].itertuples(index=False, name=None)
    ]
    runs["key"] = pd.Series(keys or None, index=runs.index, dtype=object)
    same = runs[runs.duplicated(["seed", "key"], keep=False)].sort_values(["seed", "run"])
    if len(same):
        raise UserError(_same_seed(rows, same))
    note(runs)
    return runs


def note(runs: pd.DataFrame, left_out: pd.Series | bool = False) -> None:
    """Note runs with their ``value``, and which of them a quantity leaves out."""
    if (noted := _NOTED.get()) is not None:
        lost = runs["diverged"].astype(bool) if "diverged" in runs else False
        noted.append(runs[["seed", "run", "value"]].assign(diverged=lost, left_out=left_out))


def _same_seed(rows: pd.DataFrame, same: pd.DataFrame) -> str:
    """What to do about two runs of a seed, the first of ``same``: how they differ."""
    same = same if "run" in rows else same.sort_index()
    first = same.iloc[0]
    alike = (same["seed"] == first["seed"]) & same["key"].map(lambda key: key == first["key"])
    pair = same[alike].iloc[:2]
    which = "runs {} and {}".format(*pair["run"])
    if "run" not in rows:
        which = "rows {} and {}".format(*(place + 1 for place in pair.index))
    known = {"run", "key", "value", "seed"}
    differing = pair.columns[pair.nunique(dropna=False) > 1]
    names = [str(column) for column in rows if column in differing and column not in known]
    if not names:
        return f"{which} are the same (seed {first['seed']}); remove one."
    told = f"{which} have the same seed and differ in {', '.join(names[:MOST_FIELDS])}"
    return f"{told}; add what tells them apart to 'over' or 'where', or keep one of them."


def by_seed(
    rows: pd.DataFrame, where: Selection, value: Value, over: Sequence[str] = ()
) -> pd.DataFrame:
    """The value of the runs with ``where``: seeds × keys, the combinations of the fields ``over``.

    A missing run is NaN. See ``runs_by_seed``.
    """
    runs = runs_by_seed(selected(rows, where), value, over)
    columns = {k: of.set_index("seed")["value"] for k, of in runs.groupby("key", sort=False)}
    return _table(columns, sorted(runs["seed"].unique()))


def _table(columns: Mapping[Any, pd.Series], seeds: list[int]) -> pd.DataFrame:
    """Seeds × keys, from one Series of each key; a missing seed is NaN."""
    data = np.array([column.reindex(seeds).to_numpy(float) for column in columns.values()]).T
    frame = pd.DataFrame(data, index=pd.Index(seeds, name="seed"))
    frame.columns = pd.Index(list(columns), tupleize_cols=False)
    return frame


def weighted_sum(parts: Sequence[tuple[float, pd.DataFrame]]) -> pd.DataFrame:
    """Σ weight · table, seed by seed and key by key; what one table lacks is NaN.

    A table whose only key is missing values (centralized training has no topology) counts for every
    key of the others. Infinities are added as in ``total``.
    """
    keyed = [table for _, table in parts if not _without_key(table)]
    keys = list(dict.fromkeys(key for table in keyed or [parts[0][1]] for key in table.columns))
    seeds = sorted({seed for _, table in parts for seed in table.index})
    missing = pd.Series(np.nan, index=seeds)
    columns = {}
    for key in keys:
        values = [
            weight
            * (table.iloc[:, 0] if _without_key(table) else dict(table.items()).get(key, missing))
            .reindex(seeds)
            .to_numpy(float)
            for weight, table in parts
        ]
        columns[key] = pd.Series(total(np.array(values)), index=seeds)
    return _table(columns, seeds)


def _without_key(table: pd.DataFrame) -> bool:
    return table.shape[1] == 1 and all(part is None for part in table.columns[0])


def total(values: np.ndarray) -> np.ndarray:
    """The sum along the first axis, and with it the one rule of diverged runs.

    A diverged run has an infinite value (``per_run``). If runs of one side diverged, the sum is
    infinite, against that side. If runs of both did, it is NaN, as with a missing value: there is
    no comparison (see ``both_diverged``).
    """
    with np.errstate(invalid="ignore"):
        return np.sum(values, axis=0)


def both_diverged(numbers: pd.Series, noted: Sequence[pd.DataFrame]) -> list[int]:
    """The seeds without a number in which runs of both sides diverged, or never got there.

    ``numbers`` has a quantity by seed, ``noted`` the runs that it compared. Such a seed lacks no
    run and no value, and has at least two infinite values.
    """
    lost = set(numbers.index[numbers.isna()])
    if not lost or not noted:
        return []
    runs = pd.concat(noted).drop_duplicates(["seed", "run"])
    lost -= lacking_a_run(lost, noted) | set(runs.loc[runs["value"].isna(), "seed"])
    infinite = runs.loc[np.isinf(runs["value"]), "seed"].value_counts()
    return sorted(seed for seed in lost if infinite.get(seed, 0) > 1)


def lacking_a_run(seeds: Iterable[int], noted: Sequence[pd.DataFrame]) -> set[int]:
    """The ``seeds`` in which a side of a comparison has fewer runs than in other seeds."""
    counts = [runs["seed"].value_counts() for runs in noted]
    return {seed for seed in seeds if any(count.get(seed, 0) < count.max() for count in counts)}


def mean_over(table: pd.DataFrame) -> pd.Series:
    """The mean of each seed over the columns, with infinities as in ``total``."""
    values = total(table.to_numpy().T) / table.shape[1]
    return pd.Series(values, index=table.index, dtype=float)


def logs(table: pd.DataFrame) -> pd.DataFrame:
    """Natural logarithms; −inf for 0. Raises a UserError for a negative value."""
    if (table < 0).any(axis=None):
        raise UserError("value: a negative one has no logarithm; choose another value.")
    with np.errstate(divide="ignore"):
        return pd.DataFrame(np.log(table.to_numpy()), index=table.index, columns=table.columns)
