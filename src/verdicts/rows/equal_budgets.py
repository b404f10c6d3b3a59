"""Runs compared after an equal number of bytes sent, or of steps."""

from __future__ import annotations

import numpy as np
import pandas as pd

from verdicts.rows.evaluations import final

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
