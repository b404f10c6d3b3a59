"""Correlation of the synchronization index V with test accuracy or loss, over runs."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np
import pandas as pd

from ngo.analysis.apart import CELL
from ngo.analysis.curves import scores
from ngo.analysis.seed_means import check_apart
from verdicts.rows.evaluations import final
from verdicts.statistics.estimates import ROUNDING, estimate


@dataclass(frozen=True)
class Pooled:
    """A correlation within a seed, pooled over seeds as the mean of Fisher's z."""

    r: float
    """tanh of the mean z."""
    low: float
    """The ends of the 95 % interval; NaN if there is none."""
    high: float
    seeds: int
    """The seeds with a correlation."""


def run_ends(metrics: pd.DataFrame) -> pd.DataFrame:
    """V and accuracy at the end of every run, with ``apart.CELL`` and the seed."""
    last = final(scores(metrics))
    check_apart(last, CELL)
    return last[[*CELL, "seed", "V", "accuracy", "diverged"]]


def correlations(metrics: pd.DataFrame) -> pd.DataFrame:
    """Correlation of log V with test accuracy at the ends of runs, by data set and partition.

    Over all runs: Pearson's r with its 95 % interval, and Spearman's ρ with its p-value. Within a
    seed, where all runs have the same partition: Pearson's r, pooled over seeds, with its 95 %
    interval. Diverged runs and runs with V = 0 are left out.
    """
    records = []
    groups = run_ends(metrics).groupby(["dataset", "partition"], sort=False)
    for (dataset, partition), rows in groups:
        rows = rows[on_log_axis(rows)]
        log_V = np.log(rows["V"])
        within = pooled_correlation(within_seeds(rows, "accuracy"))
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
                "within_seed": within.r,
                "within_seed_low": within.low,
                "within_seed_high": within.high,
                "seeds": within.seeds,
            }
        )
    return pd.DataFrame(records)


def within_seeds(ends: pd.DataFrame, score: str) -> pd.DataFrame:
    """Correlation of log V with ``score`` over the runs of each seed, which share a partition.

    ``ends`` has a row for each run. Columns, indexed by seed: runs; r, Pearson's; z, Fisher's
    artanh(r); slope, the change of ``score`` when V grows by the factor e, by least squares. NaN
    where fewer than three runs of a seed differ. Diverged runs and runs with V = 0 are left out.
    """
    records = {}
    for seed, rows in ends[on_log_axis(ends, score)].groupby("seed"):
        log_V, values = np.log(rows["V"]), rows[score]
        r = _pearson(log_V, values)[0]
        straight = 1 - abs(r) < ROUNDING
        records[seed] = {
            "runs": len(rows),
            "r": r,
            "z": np.copysign(np.inf, r) if straight else np.arctanh(r),
            "slope": r * values.std() / log_V.std() if np.isfinite(r) else np.nan,
        }
    index = pd.Index(sorted(ends["seed"].unique()), name="seed")
    return pd.DataFrame.from_dict(
        records, orient="index", columns=["runs", "r", "z", "slope"], dtype=float
    ).reindex(index)


def pooled_correlation(by_seed: pd.DataFrame) -> Pooled:
    """The correlations of ``within_seeds``, pooled over seeds."""
    z = by_seed["z"].dropna().to_numpy()
    if not len(z):
        return Pooled(np.nan, np.nan, np.nan, 0)
    if not np.isfinite(z).all():
        return Pooled(float(np.tanh(z.mean())), np.nan, np.nan, len(z))
    found = estimate(z)
    low, high = found.mean - found.half_width, found.mean + found.half_width
    return Pooled(*(float(np.tanh(end)) for end in (found.mean, low, high)), len(z))


def on_log_axis(rows: pd.DataFrame, score: str = "accuracy") -> pd.Series:
    """Whether a run has a finite ``score`` and a finite, positive V."""
    return np.isfinite(rows[score]) & np.isfinite(rows["V"]) & (rows["V"] > 0)


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
