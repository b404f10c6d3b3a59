"""Figure 1: gossip after each SGD step until V ≤ V_th, on least squares."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngo.analysis.curves import along, scores
from ngo.gossip.topology import TOPOLOGIES
from ngo.report import captions, plots
from ngo.report.curve_panels import lines
from ngo.report.output import Output
from ngo.report.style import house_style, kth_style


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from the metrics of runs."""
    runs = pd.read_parquet(metrics)
    figure, shown = draw(runs)
    plots.caption(
        figure,
        "After each SGD step, linear gossip until V is at most V_th.",
        captions.intervals(runs),
        captions.diverged(runs),
        captions.made_by(tier, runs),
    )
    return Output(plots.save_figure(figure, f"{out}/figures/fig1", shown.assign(tier=tier)))


def draw(metrics: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """The graph, the losses of the consensus model and of the workers, V, and the models sent."""
    values = ["loss", "workers_loss", "V", "messages"]
    by = ["protocol", "v_threshold"]
    table = along(scores(metrics), by, "step", values)
    cases = [
        (kth_style(k, rf"$V_\mathrm{{th}} = {threshold:g}$" if threshold > 0 else name), rows)
        for k, ((name, threshold), rows) in enumerate(table.groupby(by, dropna=False))
    ]
    figure = plots.new_figure(3.9)
    axes = figure.subplot_mosaic(
        [["graph", "loss", "workers_loss"], ["graph", "V", "messages"]], width_ratios=[0.6, 1, 1]
    )
    _draw_graph(axes["graph"], metrics["topology"].iloc[0], int(metrics["workers"].iloc[0]))
    for value in values:
        lines(axes[value], cases, "step", value)
        axes[value].set_xlabel("step")
    for look, rows in cases:
        axes["V"].axhline(rows["v_threshold"].iloc[0], color=look.colour, lw=0.5)
    plots.titles(
        axes.values(),
        f"{metrics['topology'].iloc[0]}, $n = {metrics['workers'].iloc[0]}$",
        "consensus model",
        "mean of the workers",
        "synchronization, thresholds as lines",
        "communication so far",
    )
    plots.legend(figure, axes["loss"])
    return figure, table


def _draw_graph(axis: Axes, topology: str, n: int) -> None:
    import networkx as nx

    angles = 2 * np.pi * np.arange(n) / n
    places = {i: (np.sin(angle), np.cos(angle)) for i, angle in enumerate(angles)}
    graph = nx.Graph(TOPOLOGIES[topology].edges(n))
    nx.draw_networkx(
        graph, places, ax=axis, node_size=130, node_color="0.85", edgecolors="0.2", font_size=6
    )
    axis.set_aspect("equal")
    axis.margins(0.2)
    axis.axis("off")
