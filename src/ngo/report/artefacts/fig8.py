"""Figure 8: V against loss, and stability against the synchronization rate γ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngo.analysis.curves import along, scores, together
from ngo.analysis.stability import stability
from ngo.figures import plots
from ngo.figures.curve_panels import by_method, dots, lines
from ngo.figures.output import Output
from ngo.figures.run_figure import make_run_figure
from ngo.figures.run_scatter import scatter
from ngo.figures.style import house_style


@house_style()
def make(metrics: str | Path, course: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from the metrics of runs.

    ``course`` are runs at a few γ that are evaluated often.
    """
    note = (
        "Dotted: the predicted floor of NGO's V. Thin lines by epoch: single runs. The correlation "
        "is that of log V with the loss within a seed, pooled over seeds by Fisher's z."
    )
    return make_run_figure("fig8", draw, metrics, tier, out, note, course=course)


def draw(metrics: pd.DataFrame, course: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """V against loss of all runs; accuracy and V against γ; accuracy by epoch at a few γ.

    The middle panels are for the topology with most values of γ, with the predicted floor of NGO's
    V.
    """
    found = stability(metrics)
    rates = sorted(course["gamma"].dropna().unique())
    figure = plots.new_figure(5)
    top, bottom = figure.subfigures(2, 1, height_ratios=[1.15, 1])
    runs, accuracy, index = top.subplots(1, 3, width_ratios=[1.2, 1, 1])
    scatter(runs, found.runs, "loss", ~found.runs["at_shared"])
    for axis, value in ((accuracy, "accuracy"), (index, "V")):
        plots.value_ticks(axis, sorted(found.by_gamma["gamma"].unique()))
        dots(axis, by_method(found.by_gamma), "gamma", value)
        axis.set_xlabel(r"synchronization rate $\gamma$")
    index.autoscale(False)
    index.plot(found.floor["gamma"], found.floor["mean"], ":", color="0.3", lw=1)
    panels = bottom.subplots(1, len(rates), squeeze=False)[0]
    table = along(scores(course), ["method", "gamma"], "epoch", ["accuracy"])
    for axis, rate in zip(panels, rates, strict=True):
        own = course["gamma"] == rate
        _single_runs(axis, scores(course[own]))
        lines(axis, by_method(table[table["gamma"] == rate]), "epoch", "accuracy")
        axis.set_xlabel("epoch")
    plots.share_limits(*panels)
    rate = ", ".join(f"{gamma:g}" for gamma in found.shared)
    plots.titles(
        (runs, accuracy, index, *panels),
        _in_words(rf"all runs; large: $\gamma = {rate}$", found.correlation),
        f"accuracy, {found.swept}",
        f"synchronization, {found.swept}",
        *(rf"{course['topology'].iloc[0]}, $\gamma = {gamma:g}$" for gamma in rates),
    )
    plots.legend(figure, runs)
    columns = ["method", "topology", "gamma", "seed", "loss", "accuracy", "V", "diverged"]
    return figure, together(found.by_gamma, found.floor, found.runs[columns], table)


def _single_runs(axis: Axes, course: pd.DataFrame) -> None:
    for style, rows in by_method(course):
        for _, run in rows.groupby("run"):
            axis.plot(run["epoch"], run["accuracy"], color=style.colour, lw=0.4, alpha=0.5)


def _in_words(title: str, found: object) -> str:
    """``title`` with the pooled correlation below, and its interval if there is one."""
    if not np.isfinite(found.r):
        return title
    ends = f" [{found.low:.2f}, {found.high:.2f}]" if np.isfinite(found.low) else ""
    return f"{title}\nwithin a seed $r$ = {found.r:.2f}{ends}".replace("-", "−")
