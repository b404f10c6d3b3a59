"""Correlation of the synchronization index V with a score, over runs and within seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from verdicts import estimate
from verdicts.statistics import ROUNDING


@dataclass(frozen=True)
class Pooled:
    """A correlation within a seed, pooled over seeds as the mean of Fisher's z."""

    #: tanh of the mean z.
    r: float
    #: The ends of the 95 % interval; NaN if there is none.
    low: float
    high: float
    #: The seeds with a correlation.
    seeds: int


def within_seeds(ends: pd.DataFrame, score: str) -> pd.DataFrame:
    """Correlation of log V with ``score`` over the runs of each seed, which share a partition.

    ``ends`` has a row for each run. Columns, indexed by seed: runs; r, Pearson's; z, Fisher's
    artanh(r); slope, the change of ``score`` when V grows by the factor e, by least squares. NaN
    where fewer than three runs of a seed differ. Diverged runs and runs with V = 0 are left out.
    """
    records = {}
    for seed, rows in ends[on_log_axis(ends, score)].groupby("seed"):
        log_V, values = np.log(rows["V"]), rows[score]
        r = pearson(log_V, values)[0]
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
    estimated = estimate(z)
    low, high = estimated.mean - estimated.half_width, estimated.mean + estimated.half_width
    return Pooled(*(float(np.tanh(end)) for end in (estimated.mean, low, high)), len(z))


def on_log_axis(rows: pd.DataFrame, score: str = "accuracy") -> pd.Series:
    """Whether a run has a finite ``score`` and a finite, positive V."""
    return np.isfinite(rows[score]) & np.isfinite(rows["V"]) & (rows["V"] > 0)


def pearson(x: pd.Series, y: pd.Series) -> tuple[float, float, float]:
    """Pearson's r and its 95 % interval; NaN if undefined (no interval if r is ±1)."""
    from scipy.stats import pearsonr

    if len(x) < 3 or x.nunique() == 1 or y.nunique() == 1:
        return np.nan, np.nan, np.nan
    test = pearsonr(x, y)
    r = float(test.statistic)
    straight = 1 - abs(r) < ROUNDING
    low, high = test.confidence_interval() if len(x) > 3 and not straight else (np.nan, np.nan)
    return r, float(low), float(high)
