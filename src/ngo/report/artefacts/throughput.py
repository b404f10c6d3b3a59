"""Throughput of the engine, and its speed-up, by the number of workers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ngo.analysis.speedup import speedups
from ngo.figures import captions, plots
from ngo.figures.output import Output
from ngo.figures.style import METHOD_STYLES, house_style


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from ``throughput.throughput_table``."""
    shown = pd.read_parquet(metrics).assign(tier=tier)
    figure = draw(shown)
    facts = shown.iloc[0]
    plots.caption(
        figure,
        f"Training steps of {facts['model']} (batches of {facts['batch_size']}, topology "
        f"{facts['topology']}) without evaluations, all workers on one machine of {facts['cores']} "
        f"cores. Medians and range of {shown['repeat'].nunique()} repeats of {facts['steps']} "
        "steps.",
        captions.made_by(tier, shown),
    )
    return Output(plots.save_figure(figure, f"{out}/figures/throughput", shown))


def draw(table: pd.DataFrame) -> Figure:
    """Samples per second and speed-up against n: medians of the repeats, with bars for the range.

    The grey line is a linear speed-up.
    """
    found = speedups(table)
    counts = sorted(found["workers"].unique())
    fewest = counts[0]
    figure = plots.new_figure(2.6)
    left, right = figure.subplots(1, 2)
    for method, part in found.groupby("method", sort=False):
        part = part.sort_values("workers")
        style = METHOD_STYLES[method]
        for axis, unit in ((left, 1.0), (right, part["base"].iloc[0])):
            axis.errorbar(
                part["workers"],
                part["median"] / unit,
                np.array([part["median"] - part["low"], part["high"] - part["median"]]) / unit,
                color=style.colour,
                linestyle=style.line,
                marker=style.marker,
                markersize=4,
                capsize=2,
                label=style.label,
            )
    right.plot(counts, np.array(counts) / fewest, color="0.6", linewidth=1, label="linear")
    over = "one worker" if fewest == 1 else f"{fewest} workers"
    left.set(title="throughput of training", ylabel="samples/s")
    left.set_ylim(bottom=0)
    left.yaxis.set_major_formatter("{x:,.0f}")
    right.set(title=f"speed-up over {over}", ylabel=f"speed-up over {over}")
    right.set_yscale("log", base=2)
    right.yaxis.set_major_formatter("{x:g}")
    for axis in (left, right):
        axis.set_xscale("log", base=2)
        axis.set_xticks(counts, [str(n) for n in counts])
        axis.set(xlabel="number of workers $n$")
        axis.xaxis.set_minor_locator(NullLocator())
    right.legend()
    return figure
