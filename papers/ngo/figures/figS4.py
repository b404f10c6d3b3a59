"""The mean of the synchronization index V over training and the test accuracy at the end, with one
point for each run, and their correlation. V at the end would say little where the learning rate has
fallen to 0: then all workers are synchronized.

*The paper:* the two are correlated: better synchronized workers have a higher accuracy. Runs of a
seed share a partition, which determines much of the accuracy. They are not independent, so the
intervals over all runs are too narrow. *Look at* the sign and size of the correlation, within a
seed as well as over all runs.
"""

from __future__ import annotations

from dataclasses import astuple
from math import factorial

import numpy as np
import pandas as pd

from ngo import plots
from ngo.analysis.apart import CELL
from ngo.analysis.correlations import on_log_axis, pearson, pooled_correlation, within_seeds
from ngo.analysis.curves import scores, with_mean_V
from ngo.analysis.seed_means import check_apart
from ngo.plots import captions
from ngo.plots.declaration import figure
from ngo.plots.run_scatter import scatter
from ngo.plots.style import TEXT_WIDTH
from ngo.printing.tables import bracketed, number
from verdicts.rows.evaluations import final

HALF = ["dataset", "partition"]
FOUND = [
    *("runs", "pearson", "pearson_low", "pearson_high", "spearman", "spearman_p"),
    *("within_seed", "within_seed_low", "within_seed_high", "seeds"),
]
"""The columns of ``correlations``."""


@figure(
    "figS4",
    section="Supplement",
    title="Figure S4: correlation of V and test accuracy",
    apart=("dataset", "partition", "topology", "method"),
)
def numbers(metrics: pd.DataFrame) -> pd.DataFrame:
    """The end of every run (``run_ends``), with the correlations of its data set and partition."""
    ends = run_ends(metrics)
    return ends.merge(correlations(ends), on=HALF)


def run_ends(metrics: pd.DataFrame) -> pd.DataFrame:
    """Mean V over training and accuracy at the end of every run, with ``apart.CELL`` and seed."""
    last = final(with_mean_V(scores(metrics)))
    last = last.assign(V=last["V_mean"])
    check_apart(last, CELL)
    return last[[*CELL, "seed", "V", "accuracy", "diverged"]]


def correlations(ends: pd.DataFrame) -> pd.DataFrame:
    """Correlation of log V with test accuracy by data set and partition.

    Over all runs: Pearson's r with its 95 % interval, and Spearman's ρ with its p-value. Within a
    seed, where all runs have the same partition: Pearson's r, pooled over seeds, with its 95 %
    interval. Diverged runs and runs with V = 0 are left out.
    """
    records = []
    for half, rows in ends.groupby(HALF, sort=False):
        rows = rows[on_log_axis(rows)]
        log_V = np.log(rows["V"])
        within = astuple(pooled_correlation(within_seeds(rows, "accuracy")))
        over_all = (*pearson(log_V, rows["accuracy"]), *_spearman(log_V, rows["accuracy"]))
        records.append((*half, len(rows), *over_all, *within))
    return pd.DataFrame(records, columns=[*HALF, *FOUND])


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


def note(numbers: pd.DataFrame, metrics: pd.DataFrame) -> list[str]:
    """How to read the drawing."""
    return [
        captions.classes(metrics),
        "The paper's panel names no data and prints no coefficient. Grey: a line through the runs "
        "of each seed. Pearson: of log V, with its 95 % interval over runs; within a seed: pooled "
        "over seeds as the mean of Fisher's z, with the 95 % interval of that.",
        captions.diverged(metrics, means=False),
    ]


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """Mean V against accuracy at the end of every run, a panel for each data set and partition."""
    halves = list(numbers.groupby(HALF, sort=False))
    width = max(TEXT_WIDTH * len(halves) / 2, 5)
    figure, (axes,) = plots.panels(3.4, 1, len(halves), width=width)
    for axis, (half, rows) in zip(axes, halves, strict=True):
        scatter(axis, rows)
        axis.set_xlabel("mean of $V$ over training")
        _draw_within(axis, rows)
        axis.set_title(f"{', '.join(half)}\n{_in_words(rows.iloc[0])}", size="small")
    plots.legend(figure, *axes)
    return figure


def _draw_within(axis: plots.Axes, ends: pd.DataFrame) -> None:
    """A grey line through the runs of each seed, by least squares."""
    ends = ends[on_log_axis(ends)]
    by_seed = within_seeds(ends, "accuracy")
    for seed, rows in ends.groupby("seed"):
        slope, log_V = by_seed.loc[seed, "slope"], np.log(rows["V"])
        if np.isfinite(slope):
            reach = np.array([log_V.min(), log_V.max()])
            height = rows["accuracy"].mean() + slope * (reach - log_V.mean())
            axis.plot(np.exp(reach), height, color="0.6", lw=0.6, zorder=1)


def _in_words(found: pd.Series) -> str:
    p_value = found["spearman_p"]
    chance = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
    return (
        f"Pearson $r$ = {_with_interval(found, 'pearson')}\n"
        f"Spearman ρ = {number(found['spearman'])} ({chance})\n"
        f"within a seed $r$ = {_with_interval(found, 'within_seed')}"
    )


def _with_interval(found: pd.Series, name: str) -> str:
    return number(found[name]) + bracketed(found[f"{name}_low"], found[f"{name}_high"])
