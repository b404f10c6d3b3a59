"""Correlation of the synchronization index V with test accuracy, over runs."""

from __future__ import annotations

from math import factorial

import numpy as np
import pandas as pd

from ngo.analysis.apart import CELL
from ngo.analysis.curves import scores
from ngo.analysis.evaluations import check_apart, final
from ngo.analysis.statistics import ROUNDING, estimate


def run_ends(metrics: pd.DataFrame) -> pd.DataFrame:
    """V and accuracy at the end of every run, with ``apart.CELL`` and the seed."""
    last = final(scores(metrics))
    check_apart(last, CELL)
    return last[[*CELL, "seed", "V", "accuracy", "diverged"]]


def correlations(metrics: pd.DataFrame) -> pd.DataFrame:
    """Correlation of log V with test accuracy at the ends of runs, by data set and partition.

    Over all runs: Pearson's r with its 95 % interval, and Spearman's ρ with its p-value. Within a
    seed, where all runs have the same partition: the mean of Pearson's r over seeds, with its 95 %
    interval. Diverged runs and runs with V = 0 are left out.
    """
    records = []
    groups = run_ends(metrics).groupby(["dataset", "partition"], sort=False)
    for (dataset, partition), rows in groups:
        rows = rows[on_log_axis(rows)]
        log_V = np.log(rows["V"])
        within = estimate(
            np.array([_pearson(np.log(g["V"]), g["accuracy"])[0] for _, g in rows.groupby("seed")])
        )
        r, low, high = _pearson(log_V, rows["accuracy"])
        rho, p_value = _spearman(log_V, rows["accuracy"])
        records.append(
            {
                "dataset": dataset,
                "partition": partition,
                "runs": len(rows),
                "pearson": r,
                "pearson_low": low,
                "pearson_high": high,
                "spearman": rho,
                "spearman_p": p_value,
                "within_seed": within.mean,
                "within_seed_ci95": within.half_width,
            }
        )
    return pd.DataFrame(records)


def on_log_axis(rows: pd.DataFrame) -> pd.Series:
    """Whether a run has a finite accuracy and a finite, positive V."""
    return np.isfinite(rows["accuracy"]) & np.isfinite(rows["V"]) & (rows["V"] > 0)


def _pearson(x: pd.Series, y: pd.Series) -> tuple[float, float, float]:
    """Pearson's r and its 95 % interval; NaN if undefined (no interval if r is ±1)."""
    from scipy.stats import pearsonr

    if len(x) < 3 or x.nunique() == 1 or y.nunique() == 1:
        return np.nan, np.nan, np.nan
    found = pearsonr(x, y)
    r = float(found.statistic)
    straight = 1 - abs(r) < ROUNDING
    low, high = found.confidence_interval() if len(x) > 3 and not straight else (np.nan, np.nan)
    return r, float(low), float(high)


def _spearman(x: pd.Series, y: pd.Series) -> tuple[float, float]:
    """Spearman's ρ and its p-value; NaN if undefined.

    SciPy's p-value uses a t distribution, which gives 0 at |ρ| = 1. It is at least 2/n!, since two
    of the n! orders are as extreme.
    """
    from scipy.stats import spearmanr

    if len(x) < 3 or x.nunique() == 1 or y.nunique() == 1:
        return np.nan, np.nan
    found = spearmanr(x, y)
    return float(found.statistic), max(float(found.pvalue), 2 / factorial(len(x)))
