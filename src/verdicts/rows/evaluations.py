"""The last evaluation of each run."""

from __future__ import annotations

import pandas as pd


def final(metrics: pd.DataFrame) -> pd.DataFrame:
    """The last evaluation of every run; accuracies and losses of a diverged run are NaN."""
    last = metrics.loc[metrics.groupby("run")["step"].idxmax()].copy()
    scores = [name for name in last if "accuracy" in name or "loss" in name]
    last.loc[last["diverged"], scores] = float("nan")
    return last.reset_index(drop=True)
