"""The last evaluation of each run, and its mean over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ngo.analysis.apart import pooled
from ngo.analysis.statistics import estimate


def final(metrics: pd.DataFrame) -> pd.DataFrame:
    """The last evaluation of every run; accuracies and losses of a diverged run are NaN."""
    last = metrics.loc[metrics.groupby("run")["step"].idxmax()].copy()
    scores = [name for name in last if "accuracy" in name or "loss" in name]
    last.loc[last["diverged"], scores] = float("nan")
    return last.reset_index(drop=True)


def check_apart(runs: pd.DataFrame, by: Sequence[str]) -> None:
    """Raise a UserError if two rows of ``runs`` have the same seed and agree on all columns ``by``.

    Each row is one run. Such rows would be averaged as seeds of the same run.
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
