"""Figure 2: alignment of the workers' gradients with the gradient at their mean, against V."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ngo.analysis.gradient_alignment import Alignment, alignment, groups, trained_V
from ngo.figures import captions, plots
from ngo.figures.output import Output
from ngo.figures.style import COLOURS, METHOD_STYLES, house_style


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from ``alignment.alignment_table``."""
    shown = pd.read_parquet(metrics).assign(tier=tier)
    figure = draw(shown)
    seeds = shown["seed"].nunique()
    over_seeds = " and seeds. Bars: 95 % Student t intervals over seeds, which may leave the axes"
    plots.caption(
        figure,
        "Gradients of one loss, on the same "
        f"{shown['samples'].max()} training images, at the workers of a trained run moved towards "
        "and away from their mean; dotted: where training ended. Bands: from the least to the "
        f"greatest of all workers{over_seeds if seeds > 1 else ''}.",
        captions.made_by(tier, shown),
    )
    return Output(plots.save_figure(figure, f"{out}/figures/fig2", shown))


def draw(table: pd.DataFrame) -> Figure:
    """Directions and lengths, a row of panels for each data set, method and topology.

    Diverged runs are counted and left out of the curves.
    """
    cases = groups(table)
    figure = plots.new_figure(2.4 * len(cases) + 0.3)
    axes = figure.subplots(len(cases), 2, squeeze=False)
    for row, ((dataset, method, topology), part) in zip(axes, cases, strict=True):
        finite = part[~part["diverged"]]
        for axis, value in zip(row, ("cosine", "relative_norm"), strict=True):
            log = value == "relative_norm"
            axis.axvline(trained_V(part), color="0.5", linestyle=":", linewidth=1)
            _draw_against_V(axis, alignment(finite, value, log=log), log=log)
        where = ", ".join([dataset, METHOD_STYLES[method].label, *filter(pd.notna, [topology])])
        row[0].set(title=f"direction: {where}", ylabel="cosine with the gradient at $\\bar{x}$")
        row[0].set_ylim(-1.05, 1.05)
        row[1].set(title=f"length: {where}", ylabel="length / length of that at $\\bar{x}$")
        if lost := part.loc[part["diverged"], "run"].nunique():
            text = f"× {lost} of {part['run'].nunique()} runs diverged"
            row[0].text(0.99, 0.98, text, transform=row[0].transAxes, ha="right", va="top")
    plots.legend(figure, axes[0, 0])
    return figure


def _draw_against_V(axis: Axes, found: Alignment, *, log: bool) -> None:
    positive = found.V[found.V > 0]
    if log:
        axis.set_yscale("log")
    if len(positive):
        axis.set_xscale("symlog", linthresh=positive.min())
        low, high = np.log10([positive.min(), positive.max()])
        axis.set_xticks([0, *10.0 ** np.arange(np.ceil(low), np.floor(high) + 1)])
        axis.xaxis.set_minor_locator(NullLocator())
    axis.fill_between(
        found.V, found.least, found.greatest, color=COLOURS[0], alpha=0.15, linewidth=0
    )
    for curve, label, colour, style in (
        (found.workers, "a worker's gradient", COLOURS[0], "s--"),
        (found.mean, "the mean of the workers' gradients", COLOURS[1], "o-"),
    ):
        bars = [curve.below, curve.above]
        axis.errorbar(
            found.V, curve.mean, bars, fmt=style, color=colour, label=label, markersize=4, capsize=2
        )
    if log and len(positive):  # intervals of few seeds may leave the axes
        means = min(found.workers.mean), min(found.mean.mean)
        axis.set_ylim(min(found.least.min(), *means) / 2, found.greatest.max() * 2)
    axis.set(xlabel="index $V$")
