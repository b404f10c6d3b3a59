"""Figure A2: steps to an early and to a late target by the number of workers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngo.analysis.steps_to_target import speedup_means, steps_to_targets
from ngo.figures import captions, plots
from ngo.figures.output import Output
from ngo.figures.style import METHOD_STYLES, house_style

FILLS = {"early": "full", "late": "none"}
"""The filling of a marker shows the target; colour and shape show the method."""


@house_style()
def make(
    metrics: str | Path, early_accuracy: float, late_accuracy: float, tier: str, out: str | Path
) -> Output:
    """Draw and save the figure from the metrics of runs; targets are test accuracies in percent."""
    runs = pd.read_parquet(metrics)
    found = speedup_means(steps_to_targets(runs, {"early": early_accuracy, "late": late_accuracy}))
    figure = draw(found)
    lost = int((found["seeds"] - found["reached"]).sum())
    plots.caption(
        figure,
        f"Steps until the consensus model first has a test accuracy of {early_accuracy:g} % "
        f"(early) or {late_accuracy:g} % (late), linear between evaluations; a step is one batch "
        "for each worker. Geometric means; speed-up: over the fewest workers, paired by seed.",
        f"{lost} of {found['seeds'].sum()} times a run never reached a target: that number of "
        "workers is left out."
        if lost
        else "",
        captions.intervals(runs, geometric=False),
        captions.made_by(tier, runs),
    )
    return Output(plots.save_figure(figure, f"{out}/figures/figA2", found.assign(tier=tier)))


def draw(found: pd.DataFrame) -> Figure:
    """Steps of all, and the speed-up of each method beside a linear one (grey)."""
    counts = sorted(found["workers"].unique())
    methods = [name for name in METHOD_STYLES if name in set(found["method"])]
    figure = plots.new_figure(2.8)
    axes = figure.subplots(1, 1 + len(methods))
    for axis in axes:
        plots.value_ticks(axis, counts, base=2)
        axis.set_xlabel("workers $n$")
    plots.log_axis(axes[0].yaxis)
    axes[0].set_ylabel("steps")
    for axis, method in zip(axes[1:], methods, strict=True):
        axis.set_yscale("log", base=2)
        axis.yaxis.set_major_formatter("{x:g}")
        axis.plot(counts, np.array(counts) / counts[0], color="0.6", lw=1, label="linear")
        own = found[found["method"] == method]
        _draw(axes[0], own, "steps")
        _draw(axis, own, "speedup")
        axis.set_ylabel("speed-up")
    plots.share_limits(*axes[1:])
    plots.titles(
        axes,
        "steps to a target",
        *(f"speed-up, {METHOD_STYLES[method].label}" for method in methods),
    )
    plots.legend(figure, axes[0], axes[1])
    return figure


def _draw(axis: Axes, rows: pd.DataFrame, value: str) -> None:
    for (target, method), part in rows.groupby(["target", "method"], sort=False):
        part = part[part[value].notna()].sort_values("workers")
        style = METHOD_STYLES[method]
        axis.errorbar(
            part["workers"],
            part[value],
            [part[value] - part[f"{value}_low"], part[f"{value}_high"] - part[value]],
            color=style.colour,
            linestyle=style.line if target == "early" else ":",
            marker=style.marker,
            fillstyle=FILLS[target],
            label=f"{style.label}, {target} target",
            markersize=4,
            linewidth=1,
            elinewidth=0.8,
            capsize=2,
        )
