"""Panels of the best accuracy by the number of workers, and of NGO − gossip."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ngo.analysis.curves import together
from ngo.analysis.scaling import best_accuracies
from ngo.figures import plots
from ngo.figures.curve_panels import by_method, dots


def draw_scaling(metrics: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """The figure, and the numbers in it."""
    best, gain = best_accuracies(metrics)
    sizes = sorted(best["workers"].unique())
    figure = plots.new_figure(2.7)
    axes = figure.subplots(1, 2)
    for axis in axes:
        plots.value_ticks(axis, sizes, base=2)
        axis.set_xlabel("workers $n$")
    dots(axes[0], by_method(best), "workers", "best")
    dots(axes[1], by_method(gain), "workers", "difference")
    axes[1].axhline(0, color="0.6", lw=0.6, zorder=0)
    plots.titles(axes.flat, "best accuracy", "difference, paired by seed")
    plots.legend(figure, axes[0])
    return figure, together(best, gain)
