"""The last evaluation of each run."""

from __future__ import annotations

import pandas as pd

from verdicts.registry import UserError


def final(metrics: pd.DataFrame) -> pd.DataFrame:
    """The last evaluation of every run; accuracies and losses of a diverged run are NaN.

    The last one has the highest ``step``. A table without steps has one row for each run; a
    UserError if it has two. Without the column ``diverged``, no run diverged.
    """
    if "step" in metrics:
        last = metrics.loc[metrics.groupby("run")["step"].idxmax()].copy()
    elif metrics["run"].is_unique:
        last = metrics.copy()
    else:
        run = metrics.loc[metrics["run"].duplicated(), "run"].iloc[0]
        raise UserError(f"step: there is no such column, and the run {run!r} has several rows.")
    if "diverged" in last:
        scores = [name for name in last.columns if "accuracy" in name or "loss" in name]
        last.loc[last["diverged"], scores] = float("nan")
    return last.reset_index(drop=True)
