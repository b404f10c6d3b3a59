"""Figure 5: test accuracy and V on random graphs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ngo.analysis.curves import together
from ngo.analysis.edge_probabilities import edge_probabilities
from ngo.report import captions, plots
from ngo.report.curve_panels import by_protocol, decentralized, dots, lines
from ngo.report.output import Output
from ngo.report.style import house_style

SHOWN_U = 0.4
"""The edge probability of the curves, as in the paper."""


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from the metrics of runs."""
    runs = pd.read_parquet(metrics)
    figure, shown = draw(runs)
    plots.caption(
        figure,
        captions.ONE_MODEL,
        captions.intervals(runs),
        captions.diverged(runs),
        captions.made_by(tier, runs, paper="cifar10"),
    )
    return Output(plots.save_figure(figure, f"{out}/figures/fig5", shown.assign(tier=tier)))


def draw(metrics: pd.DataFrame, u: float = SHOWN_U) -> tuple[Figure, pd.DataFrame]:
    """Accuracy and V along training at the edge probability nearest to ``u``, and at the end of
    training for all edge probabilities.
    """
    found = edge_probabilities(metrics, u)
    spread = decentralized(by_protocol(found.ends))
    figure = plots.new_figure(4.4)
    axes = figure.subplots(2, 2, width_ratios=[1.3, 1])
    for row, value in zip(axes, ("accuracy", "V"), strict=True):
        cases = by_protocol(found.course)
        lines(row[0], cases if value != "V" else decentralized(cases), "epoch", value)
        plots.value_ticks(row[1], found.probabilities, base=2)
        levels = by_protocol(found.ends[found.ends["u"].isna()]) if value != "V" else []
        dots(row[1], spread, "u", value, levels)
        labels = [f"{other:g}\n({found.budget[other]:.0f})" for other in found.probabilities]
        row[1].set_xticklabels(labels)
    axes[1, 0].set_xlabel("epoch")
    axes[1, 1].set_xlabel("edge probability $u$\n(models sent in a step)")
    plots.titles(
        axes.flat,
        f"accuracy, $u = {found.shown:g}$",
        "accuracy at the end",
        f"synchronization, $u = {found.shown:g}$",
        "synchronization at the end",
    )
    plots.legend(figure, axes[0, 0])
    return figure, together(found.course, found.ends)
