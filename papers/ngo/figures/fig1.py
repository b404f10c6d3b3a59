"""Five workers on a ring solve least squares, and fit a noisy sine with a small net, on iid data.
After each SGD step they gossip until the synchronization index V is at most V_th.

*The paper:* after the same number of iterations, better synchronized workers have converged
further. Its text names least squares, and the caption of its figure a toy model: both are here, the
toy model being the net of Figure S6. *Look at* the order of the curves by threshold, and at what
the order costs in models sent.
"""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd

from ngo import plots
from ngo.analysis.curves import along, part, points, scores, together
from ngo.gossip.topology import TOPOLOGIES
from ngo.plots import captions, log_axis
from ngo.plots.curve_panels import LABELS, Cases, error_bars, lines
from ngo.plots.declaration import figure
from ngo.plots.style import kth_style
from verdicts.rows.evaluations import final

BY = ["dataset", "method", "v_threshold"]
SHOWN = {"loss": "consensus model", "workers_loss": "mean of the workers", "V": "synchronization"}
NAMES = {"least_squares": "least squares", "sine": "sine net"}


@figure(
    "fig1",
    section="2 Problem setup",
    title="Figure 1: gossip until V ≤ V_th on least squares",
    apart=("dataset", "method", "v_threshold"),
)
def numbers(metrics: pd.DataFrame) -> pd.DataFrame:
    """The means over seeds, in two parts.

    ``course``: losses and V along training, by problem and threshold. ``sent``: the models sent
    until the end, with the graph's ``topology`` and number of ``workers``.
    """
    every = scores(metrics)
    graph = {"topology": metrics["topology"].iloc[0], "workers": int(metrics["workers"].iloc[0])}
    return together(
        course=along(every, BY, "step", [*SHOWN]),
        sent=points(final(every), BY, ["messages"]).assign(**graph),
    )


def note(numbers: pd.DataFrame, metrics: pd.DataFrame) -> list[str]:
    """How to read the drawing."""
    return [
        "After each SGD step, linear gossip until V is at most V_th; thresholds as lines. Losses "
        "before the first step, equal for all, are not drawn.",
        *captions.seeds(metrics),
    ]


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """The graph and, for each problem, losses of the consensus model and of the workers, and V.

    Below the graph: the models sent until the end, by threshold.
    """
    course, sent = part(numbers, "course"), part(numbers, "sent")
    topology, workers = sent["topology"].iloc[0], int(sent["workers"].iloc[0])
    problems = list(course["dataset"].unique())
    figure = plots.new_figure(1.9 * max(len(problems), 2) + 0.4)
    left, right = figure.subfigures(1, 2, width_ratios=[0.9, 3])
    graph, cost = left.subplots(2, 1)
    _draw_graph(graph, topology, workers)
    _draw_cost(cost, sent)
    axes = right.subplots(len(problems), 3, squeeze=False)
    for row, problem in zip(axes, problems, strict=True):
        cases = _by_threshold(course[(course["dataset"] == problem) & (course["step"] > 0)])
        for axis, value in zip(row, SHOWN, strict=True):
            lines(axis, cases, "step", value)
            axis.set_xlabel("step")
        for look, rows in cases:
            row[-1].axhline(rows["v_threshold"].iloc[0], color=look.colour, lw=0.5)
    plots.titles(
        (graph, *axes.flat, cost),
        f"{topology}, $n = {workers}$",
        *(f"{NAMES.get(name, name)}:\n{what}" for name in problems for what in SHOWN.values()),
        "communication",
    )
    plots.legend(figure, axes[0, 0])
    return figure


def _by_threshold(table: pd.DataFrame) -> Cases:
    """The rows of each threshold with its style; other methods by their name."""
    groups = enumerate(table.groupby(["method", "v_threshold"], dropna=False))
    return [
        (kth_style(k, rf"$V_\mathrm{{th}} = {threshold:g}$" if threshold > 0 else name), rows)
        for k, ((name, threshold), rows) in groups
    ]


def _draw_cost(axis: plots.Axes, sent: pd.DataFrame) -> None:
    """The models sent until the end against the threshold, a line for each problem."""
    shown = sent.dropna(subset="v_threshold")
    for k, (problem, rows) in enumerate(shown.groupby("dataset", sort=False)):
        rows = rows.sort_values("v_threshold")
        look = replace(kth_style(k, NAMES.get(problem, problem)), colour="0.3")
        error_bars(axis, rows, "v_threshold", look, elinewidth=1)
        place = rows[["v_threshold", "mean"]].fillna(0).iloc[0].astype(float)
        offset = {"xytext": (5, 4), "textcoords": "offset points"}
        axis.annotate(look.label, place, **offset, fontsize="small")
    axis.set_xticks(sorted(shown["v_threshold"].unique()))
    if (shown["mean"] > 0).any():
        log_axis(axis.yaxis)
    axis.set(xlabel=r"threshold $V_\mathrm{th}$", ylabel=LABELS["messages"])


def _draw_graph(axis: plots.Axes, topology: str, n: int) -> None:
    angles = 2 * np.pi * np.arange(n) / n
    places = {i: (np.sin(angle), np.cos(angle)) for i, angle in enumerate(angles)}
    graph = nx.Graph(TOPOLOGIES[topology].edges(n))
    look = {"node_size": 130, "node_color": "0.85", "edgecolors": "0.2", "font_size": 6}
    nx.draw_networkx(graph, places, ax=axis, **look)
    axis.set_aspect("equal")
    axis.margins(0.2)
    axis.axis("off")
