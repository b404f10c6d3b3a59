"""The figures of synchronization: V against performance, and what decides V."""

from __future__ import annotations

from itertools import cycle
from math import factorial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngo import curves, graphs, plots
from ngo.apart import CELL
from ngo.comparisons import TOPOLOGY_ORDER
from ngo.plots import TEXT_WIDTH
from ngo.results import check_apart, final
from ngo.statistics import ROUNDING, estimate

Drawn = tuple[Figure, pd.DataFrame]

# How a marker is filled, by topology: the protocols differ in colour and shape.
FILLS = ("none", "left", "full", "right", "top", "bottom")


def stability_figure(metrics: pd.DataFrame) -> Drawn:
    """Figure 8: V against accuracy at the end, at the γ that all topologies share; and accuracy and
    V against γ, on the topology where it is swept, with the floor that theory predicts for NGO's V.
    """
    last = final(curves.scores(metrics))
    check_apart(last, ["protocol", "topology", "gamma"])
    rates = last.groupby("topology")["gamma"].unique()
    shared = set.intersection(*map(set, rates))
    swept = rates.map(len).idxmax()
    sweep = last[last["topology"] == swept]
    ends = curves.points(sweep, ["protocol", "gamma"], ["accuracy", "V"])
    floor = _chatter_floor(sweep[sweep["protocol"] == "ngo"])
    figure, axes = plt.subplot_mosaic(
        [["runs", "accuracy"], ["runs", "V"]], figsize=(TEXT_WIDTH, 4), width_ratios=[1.2, 1]
    )
    runs = last[last["gamma"].isin(shared)]
    _scatter(axes["runs"], runs)
    for value in ("accuracy", "V"):
        plots.value_ticks(axes[value], sorted(sweep["gamma"].unique()))
        curves.dots(axes[value], curves.by_protocol(ends), "gamma", value)
    axes["V"].set_xlabel(r"synchronization rate $\gamma$")
    axes["V"].autoscale(False)
    axes["V"].plot(floor["gamma"], floor["mean"], ":", color="0.3", lw=1)
    rate = ", ".join(f"{gamma:g}" for gamma in sorted(shared))
    plots.titles(
        (axes["runs"], axes["accuracy"], axes["V"]),
        rf"every run at $\gamma = {rate}$",
        rf"accuracy by $\gamma$, {swept}",
        "synchronization, dotted: predicted floor",
    )
    plots.legend(figure, axes["runs"])
    every = runs[["protocol", "topology", "gamma", "seed", "accuracy", "V", "diverged"]]
    return figure, curves.together(ends, floor, every)


def correlations(metrics: pd.DataFrame) -> pd.DataFrame:
    """Correlation of log V with test accuracy at the ends of runs, by data set and partition.

    Pearson's with its 95 % interval and Spearman's with its p-value over all runs; and the mean of
    Pearson's within a seed, with its 95 % interval over seeds: what is left when all runs compared
    have the same partition. Diverged runs, and those with V = 0, have no place in it.
    """
    records = []
    for (dataset, partition), rows in _ends(metrics).groupby(["dataset", "partition"], sort=False):
        rows = rows[_placed(rows)]
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


def correlation_figure(metrics: pd.DataFrame) -> Drawn:
    """Figure S4: V against test accuracy at the end of every run, a panel for each data set."""
    rows, found = _ends(metrics), correlations(metrics)
    figure, axes = plt.subplots(
        1, len(found), figsize=(max(TEXT_WIDTH * len(found) / 2, 5), 3.4), squeeze=False
    )
    for axis, row in zip(axes[0], found.to_dict("records"), strict=True):
        own = (rows["dataset"] == row["dataset"]) & (rows["partition"] == row["partition"])
        _scatter(axis, rows[own])
        axis.set_title(f"{row['dataset']}, {row['partition']}\n{_in_words(row)}", size="small")
    plots.legend(figure, *axes[0])
    return figure, rows.merge(found, on=["dataset", "partition"])


def _ends(metrics: pd.DataFrame) -> pd.DataFrame:
    last = final(curves.scores(metrics))
    check_apart(last, CELL)
    return last[[*CELL, "seed", "V", "accuracy", "diverged"]]


def _placed(rows: pd.DataFrame) -> pd.Series:
    """Whether a run has a place in a plot of log V and accuracy."""
    return np.isfinite(rows["accuracy"]) & np.isfinite(rows["V"]) & (rows["V"] > 0)


def _scatter(axis: Axes, rows: pd.DataFrame) -> None:
    """V against accuracy, a marker for each run: the protocol's, filled by topology."""
    plots.log_axis(axis.xaxis)
    topologies = [*TOPOLOGY_ORDER, *sorted(set(rows["topology"]) - set(TOPOLOGY_ORDER))]
    for topology, fill in zip(topologies, cycle(FILLS), strict=False):
        for style, part in curves.by_protocol(rows[rows["topology"] == topology]):
            part = part[_placed(part)]
            axis.plot(
                part["V"],
                part["accuracy"],
                style.marker,
                color=style.colour,
                fillstyle=fill,
                markerfacecoloralt="white",
                markersize=5,
                label=f"{style.label}, {topology}",
            )
    axis.set(xlabel=curves.LABELS["V"], ylabel=curves.LABELS["accuracy"])
    if lost := int((~_placed(rows)).sum()):
        bottom, top = axis.get_ylim()
        axis.set_ylim(bottom - 0.08 * (top - bottom), top)
        axis.text(
            0.5, 0.02, f"× {lost} of {len(rows)} diverged", transform=axis.transAxes, ha="center"
        )


def _chatter_floor(sweep: pd.DataFrame) -> pd.DataFrame:
    """The V of NGO's largest two-cycle at each γ (see :func:`ngo.theory.chatter_V`); no rows for a
    random topology.
    """
    from ngo.pool import one_intra_op_thread
    from ngo.theory import chatter_V

    fixed = ~sweep["topology"].map(lambda name: graphs.TOPOLOGIES[name].random)
    rows = sweep[fixed & (sweep["p"] < 1)].drop_duplicates("gamma").sort_values("gamma")
    if rows.empty:
        return pd.DataFrame({"gamma": [], "value": [], "mean": []})
    run = rows.to_dict("records")[0]
    W = next(graphs.mixing_stream(run["topology"], run["workers"], None, None))
    with one_intra_op_thread():
        unit = chatter_V(1.0, W, run["p"], run["parameters"])
    floor = unit * rows["gamma"] ** (1 / (1 - run["p"]))  # as in chatter_V, for every γ at once
    return pd.DataFrame({"gamma": rows["gamma"], "value": "predicted floor of V", "mean": floor})


def _pearson(x: pd.Series, y: pd.Series) -> tuple[float, float, float]:
    """Pearson's r and its 95 % interval; NaN where there is none, as on a straight line."""
    from scipy.stats import pearsonr

    if len(x) < 3 or x.nunique() == 1 or y.nunique() == 1:
        return np.nan, np.nan, np.nan
    found = pearsonr(x, y)
    r = float(found.statistic)
    straight = 1 - abs(r) < ROUNDING
    low, high = found.confidence_interval() if len(x) > 3 and not straight else (np.nan, np.nan)
    return r, float(low), float(high)


def _spearman(x: pd.Series, y: pd.Series) -> tuple[float, float]:
    """Spearman's ρ and its p-value; NaN where there is none.

    Its p-value is by a t distribution, which gives 0 at |ρ| = 1; of n! orders two are as extreme.
    """
    from scipy.stats import spearmanr

    if len(x) < 3 or x.nunique() == 1 or y.nunique() == 1:
        return np.nan, np.nan
    found = spearmanr(x, y)
    return float(found.statistic), max(float(found.pvalue), 2 / factorial(len(x)))


def _in_words(found: dict[str, float]) -> str:
    ends = found["pearson_low"], found["pearson_high"]
    interval = f" [{ends[0]:.2f}, {ends[1]:.2f}]" if np.isfinite(ends).all() else ""
    p_value = found["spearman_p"]
    chance = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
    spread = found["within_seed_ci95"]
    within = f"{found['within_seed']:.2f}" + (f" ± {spread:.2f}" if spread > ROUNDING else "")
    text = (
        f"Pearson $r$ = {found['pearson']:.2f}{interval}\nSpearman ρ = {found['spearman']:.2f} "
        f"({chance})\nwithin a seed $r$ = {within}"
    )
    return text.replace("-", "−")
