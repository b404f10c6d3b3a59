"""Delay: test accuracy and V of gossip and NGO in training with late messages."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ngo.analysis.curves import together
from ngo.analysis.delayed_training import TASK, delayed_training
from ngo.figures import plots
from ngo.figures.curve_panels import by_method, dots
from ngo.figures.output import Output
from ngo.figures.run_figure import make_run_figure
from ngo.figures.style import house_style


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from the metrics of runs."""
    return make_run_figure("delay", draw, metrics, tier, out)


def draw(metrics: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """A row for each data set, partition and topology: accuracy, V and NGO − gossip against τ."""
    found = delayed_training(metrics)
    by = [*TASK, "topology"]
    tasks = list(found.ends.groupby(by, sort=False).groups)
    delays = sorted(found.ends["delay"].unique())
    figure = plots.new_figure(0.9 + 1.8 * len(tasks))
    axes = figure.subplots(len(tasks), 3, squeeze=False)
    for row, task in zip(axes, tasks, strict=True):
        for axis, value in zip(row, ("accuracy", "V", "difference"), strict=True):
            table = found.gain if value == "difference" else found.ends
            own = table[(table[by] == list(task)).all(axis=1)]
            dots(axis, by_method(own), "delay", value)
            axis.set_xticks(delays)
        row[2].axhline(0, color="0.6", lw=0.6, zorder=0)
    for axis in axes[-1]:
        axis.set_xlabel(r"delay $\tau$ in steps")
    names = [
        name
        for dataset, partition, topology in tasks
        for name in (f"{dataset}, {partition}, {topology}", "synchronization", "paired by seed")
    ]
    plots.titles(axes.flat, *names)
    plots.legend(figure, axes[0, 0])
    return figure, together(found.ends, found.gain)
