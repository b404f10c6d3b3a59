"""The evaluations of runs: the last, those after equal budgets, and when a target is reached."""

from __future__ import annotations

import numpy as np
import pandas as pd

from verdicts.registry import UserError
from verdicts.rows.run_values import worst_of
from verdicts.rows.selection import UNIVERSE
from verdicts.statistics.estimates import exceeds


def last_evaluations(rows: pd.DataFrame) -> pd.DataFrame:
    """The row of each run with the highest ``step``; all rows of a table without runs or steps.

    A run of each universe is a run. One that diverged in any of its rows has diverged.
    """
    if not {"run", "step"} <= set(rows):
        return rows
    own = [name for name in (UNIVERSE, "run") if name in rows]
    runs = rows.reset_index(drop=True).groupby(own, dropna=False)
    at = runs["step"].idxmax()
    last = rows.iloc[at]
    if "diverged" in rows:
        last = last.assign(diverged=runs["diverged"].transform("any").iloc[at].to_numpy())
    return last


def since_the_row_before(rows: pd.DataFrame) -> pd.Series:
    """The steps that each row of a run stands for: those since the run's row before it.

    ``rows`` are sorted by step. They weight a mean over training; a row at step 0 stands for none:
    what holds before any step says nothing of a method.
    """
    return rows.groupby("run")["step"].diff().fillna(rows["step"])


def final(metrics: pd.DataFrame) -> pd.DataFrame:
    """The last evaluation of every run; accuracies and losses of a diverged run are NaN.

    A table without steps has one row for each run; a UserError if it has two, and if a run is in
    several universes. Without the column ``diverged``, no run diverged.
    """
    last = last_evaluations(metrics).copy()
    if not last["run"].is_unique:
        run = last.loc[last["run"].duplicated(), "run"].iloc[0]
        if "step" in last:
            raise UserError(f"universe: the run {run!r} is in several; choose one in 'where'.")
        raise UserError(f"step: there is no such column, and the run {run!r} has several rows.")
    if "diverged" in last:
        scores = [name for name in last.columns if "accuracy" in name or "loss" in name]
        last.loc[last["diverged"], scores] = float("nan")
    return last.reset_index(drop=True)


SAME = ["dataset", "partition", "seed"]
"""Runs that agree on these are compared after the same number of bytes."""


def at_equal_bytes(metrics: pd.DataFrame, values: list[str]) -> pd.DataFrame:
    """The last evaluation of every run, with ``values`` as they were after ``budget`` bytes.

    The column ``budget`` is the least number of bytes that a run of the same data set, partition
    and seed sent in all, so that every run reached it. Values between two evaluations are linear in
    the bytes sent; those of a diverged run are NaN, and its bytes set no budget.
    """
    return at_equal(metrics, "bytes_sent", values, SAME)


def at_equal(
    metrics: pd.DataFrame, cost: str, values: list[str], same: list[str], share: float = 1.0
) -> pd.DataFrame:
    """The last evaluation of every run, with ``values`` as they were when ``cost`` was ``budget``.

    The column ``budget`` is ``share`` of the least ``cost`` that a run with the same fields
    ``same`` had at its end. Values between two evaluations are linear in the cost; those of a
    diverged run are NaN, and its cost sets no budget.
    """
    last = final(metrics)
    ends = last[cost].where(~last["diverged"]).astype(float)
    budget = share * ends.groupby([last[name] for name in same]).transform("min")
    return _at(metrics, last.assign(budget=budget), cost, values)


def at_equal_steps(metrics: pd.DataFrame, values: list[str]) -> pd.DataFrame:
    """The last evaluation of every run, with ``values`` as they were after ``budget`` steps.

    The column ``budget`` is ``shared_steps``. Values between two evaluations are linear in the
    steps; those of a diverged run are NaN.
    """
    return _at(metrics, final(metrics).assign(budget=float(shared_steps(metrics))), "step", values)


def shared_steps(metrics: pd.DataFrame) -> int:
    """The number of steps that all runs took; the greatest of any if all diverged."""
    last = final(metrics)
    whole = last.loc[~last["diverged"], "step"]
    return int(whole.min() if len(whole) else last["step"].max())


def value_at(metrics: pd.DataFrame, x: str, budget: pd.Series, value: str) -> pd.Series:
    """The column ``value`` of each run where its column ``x`` is ``budget``, indexed by run.

    ``budget`` is indexed by run. Linear in ``x`` between evaluations. NaN for a run that diverged,
    or ended before its budget.
    """
    found = {}
    for run, rows in metrics.groupby("run", sort=False):
        rows = rows.sort_values("step").drop_duplicates(x, keep="last")
        place = rows[x].to_numpy(dtype=float)
        reached = not rows["diverged"].any() and place[-1] >= budget[run]
        line = rows[value].to_numpy(dtype=float)
        found[run] = np.interp(budget[run], place, line) if reached else np.nan
    return pd.Series(found, dtype=float)


def _at(metrics: pd.DataFrame, last: pd.DataFrame, x: str, values: list[str]) -> pd.DataFrame:
    budget = last.set_index("run")["budget"]
    found = {v: last["run"].map(value_at(metrics, x, budget, v)) for v in values}
    return last.assign(**found)


def crossing(x: np.ndarray, y: np.ndarray, target: float) -> float:
    """The first ``x`` at which ``y``, linear between points, reaches ``target`` from below.

    A point that is off the target by rounding alone is at it. inf if ``y`` never reaches it; a NaN
    in ``y`` reaches nothing.
    """
    reached = np.flatnonzero(~(exceeds(-y, -target) | np.isnan(y)))
    if not len(reached):
        return np.inf
    k = reached[0]
    if k == 0 or not np.isfinite(y[k - 1]):
        return float(x[k])
    share = min(1.0, (target - y[k - 1]) / (y[k] - y[k - 1]))
    return float(x[k - 1] + share * (x[k] - x[k - 1]))


def time_to(metrics: pd.DataFrame, target: float, column: str, clock: str = "epoch") -> pd.Series:
    """When ``column`` of each run first reaches ``target``, in epochs or steps (``clock``).

    A loss or an error reaches the target from above, all else from below. Linear between points.
    Indexed by run; inf for a run that never reaches it, and for a diverged run.
    """
    sign = -1.0 if worst_of(column) == np.inf else 1.0
    found = {}
    for run, rows in metrics.sort_values("step", kind="stable").groupby("run", sort=False):
        y = sign * rows[column].to_numpy(float)
        lost = rows["diverged"].any()
        found[run] = np.inf if lost else crossing(rows[clock].to_numpy(float), y, sign * target)
    return pd.Series(found, dtype=float)
