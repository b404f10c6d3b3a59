"""The last evaluation of each run."""

from __future__ import annotations

import pandas as pd

from verdicts.registry import UserError
from verdicts.rows.selection import UNIVERSE


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
