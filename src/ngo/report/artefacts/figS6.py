"""Figure S6: a noisy sine learned by five workers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngo.analysis.curves import along, scores, together
from ngo.figures import captions, plots
from ngo.figures.curve_panels import by_method, decentralized, lines
from ngo.figures.output import Output
from ngo.figures.style import Style, house_style


@house_style()
def make(metrics: str | Path, samples: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from the metrics of runs and ``samples.samples_table``."""
    runs = pd.read_parquet(metrics)
    figure, shown = draw(runs, pd.read_parquet(samples))
    plots.caption(
        figure,
        "Thick lines: the consensus model; thin lines: the workers.",
        captions.ONE_MODEL,
        captions.intervals(runs),
        captions.diverged(runs),
        captions.made_by(tier, runs),
    )
    return Output(plots.save_figure(figure, f"{out}/figures/figS6", shown.assign(tier=tier)))


def draw(metrics: pd.DataFrame, samples: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """The fits by the consensus model and by each worker, of the first seed; errors and V along
    training.
    """
    values = ["loss", "workers_loss", "V"]
    table = along(scores(metrics), ["method"], "epoch", values)
    cases = by_method(table)
    fits = samples[samples["seed"] == samples["seed"].min()]
    figure = plots.new_figure(4.4)
    axes = figure.subplots(2, 3)
    for axis, (style, rows) in zip(axes[0], cases, strict=True):
        _draw_fits(axis, fits[fits["method"] == rows["method"].iloc[0]], style)
        axis.set(xlabel="$x$", ylabel="$y$")
    for axis, value in zip(axes[1], values, strict=True):
        lines(axis, cases if value != "V" else decentralized(cases), "epoch", value)
        axis.set_xlabel("epoch")
    names = [style.label for style, _ in cases]
    names += ["consensus model", "mean of the workers", "synchronization"]
    plots.titles(axes.flat, *names)
    axes[0, 0].legend(loc="lower right", fontsize="small")
    plots.legend(figure, axes[1, 0])
    return figure, together(table, fits[["method", "seed", "kind", "worker", "x", "y"]])


def _draw_fits(axis: Axes, rows: pd.DataFrame, style: Style) -> None:
    noisy, fitted = rows[rows["kind"] == "target"], rows[rows["kind"] == "prediction"]
    axis.plot(noisy["x"], noisy["y"], ".", color="0.7", markersize=2, label="test points")
    for _, worker in fitted[fitted["who"] == "worker"].groupby("worker"):
        axis.plot(worker["x"], worker["y"], color=style.colour, lw=0.6, alpha=0.6)
    consensus = fitted[fitted["who"] == "consensus"].sort_values("x")
    axis.plot(consensus["x"], np.sin(consensus["x"]), color="0.2", lw=0.7, label=r"$\sin x$")
    axis.plot(consensus["x"], consensus["y"], color=style.colour, ls=style.line, lw=1.4)
    if not np.isfinite(consensus["y"]).all():
        axis.text(0.5, 0.05, "diverged", transform=axis.transAxes, ha="center")
