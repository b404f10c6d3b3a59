"""Figure 5: test accuracy and V on random graphs, with the ring beside them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngo.analysis.curves import together
from ngo.analysis.edge_probabilities import EdgeProbabilities, edge_probabilities
from ngo.figures import captions, plots
from ngo.figures.curve_panels import Cases, by_method, decentralized, dots, lines
from ngo.figures.output import Output
from ngo.figures.style import house_style

SHOWN_U = 0.4
"""The edge probability of the curves, as in the paper."""

FIXED_MARKERS = ("P", "X")


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from the metrics of runs."""
    runs = pd.read_parquet(metrics)
    figure, shown = draw(runs)
    plots.caption(
        figure,
        "Each step draws new random graphs.",
        "At equal bytes: after as many bytes as the run that sent least in the same seed; between "
        "evaluations, values are linear in the bytes sent.",
        captions.ONE_MODEL,
        captions.intervals(runs),
        captions.diverged(runs),
        captions.made_by(tier, runs, paper="cifar10"),
    )
    return Output(plots.save_figure(figure, f"{out}/figures/fig5", shown.assign(tier=tier)))


def draw(metrics: pd.DataFrame, u: float = SHOWN_U) -> tuple[Figure, pd.DataFrame]:
    """Accuracy and V along training at the edge probability nearest to ``u``; at the end of
    training, and at equal bytes, for all edge probabilities and the fixed graphs.
    """
    found = edge_probabilities(metrics, u)
    figure = plots.new_figure(4.4)
    axes = figure.subplots(2, 3, width_ratios=[1.2, 1, 1])
    for row, value in zip(axes, ("accuracy", "V"), strict=True):
        cases = by_method(found.course)
        lines(row[0], cases if value != "V" else decentralized(cases), "epoch", value)
        for axis, table in ((row[1], found.ends), (row[2], found.equal)):
            _by_edges(axis, table, value, found)
        plots.share_limits(*row[1:])
    axes[1, 0].set_xlabel("epoch")
    for axis in axes[1, 1:]:
        axis.set_xlabel("edge probability $u$\n(models sent in a step)")
    plots.titles(
        axes.flat,
        f"accuracy, $u = {found.shown:g}$",
        "at the end",
        "at equal bytes",
        f"synchronization, $u = {found.shown:g}$",
        "at the end",
        "at equal bytes",
    )
    plots.legend(figure, axes[0, 0], axes[0, 1])
    return figure, together(
        found.course.assign(at="epoch"),
        found.ends.assign(at="end"),
        found.equal.assign(at="equal bytes"),
    )


def _by_edges(axis: Axes, table: pd.DataFrame, value: str, found: EdgeProbabilities) -> None:
    """``value`` against u; a fixed graph stands at its share of all edges."""
    plots.value_ticks(axis, found.probabilities, base=2)
    random = table[table["u"].notna()]
    levels = by_method(table[table["topology"].isna()]) if value != "V" else []
    dots(axis, by_method(random) + _fixed(table), "share", value, levels)
    budget = [f"{u:g}\n({found.budget[u]:.0f})" for u in found.probabilities]
    axis.set_xticklabels(budget)


def _fixed(table: pd.DataFrame) -> Cases:
    """The rows on each fixed graph, by method; markers without a line."""
    cases: Cases = []
    rows = table[table["u"].isna() & table["topology"].notna()]
    for topology, part in rows.groupby("topology", sort=False):
        for k, (style, own) in enumerate(by_method(part)):
            look = replace(
                style,
                label=f"{style.label}, {topology}",
                line="none",
                marker=FIXED_MARKERS[k % len(FIXED_MARKERS)],
            )
            cases.append((look, own))
    return cases
