"""Figure 8: V against performance, and stability against the synchronization rate γ."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ngo.analysis.curves import together
from ngo.analysis.stability import stability
from ngo.report import plots
from ngo.report.curve_panels import by_protocol, dots
from ngo.report.output import Output
from ngo.report.run_figure import make_run_figure
from ngo.report.run_scatter import scatter
from ngo.report.style import house_style


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from the metrics of runs."""
    return make_run_figure("fig8", draw, metrics, tier, out)


def draw(metrics: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """V against accuracy at the γ shared by all topologies; accuracy and V against γ.

    The latter are for the topology with most values of γ, with the predicted floor of NGO's V.
    """
    found = stability(metrics)
    figure = plots.new_figure(4)
    axes = figure.subplot_mosaic([["runs", "accuracy"], ["runs", "V"]], width_ratios=[1.2, 1])
    scatter(axes["runs"], found.runs)
    for value in ("accuracy", "V"):
        plots.value_ticks(axes[value], sorted(found.by_gamma["gamma"].unique()))
        dots(axes[value], by_protocol(found.by_gamma), "gamma", value)
    axes["V"].set_xlabel(r"synchronization rate $\gamma$")
    axes["V"].autoscale(False)
    axes["V"].plot(found.floor["gamma"], found.floor["mean"], ":", color="0.3", lw=1)
    rate = ", ".join(f"{gamma:g}" for gamma in found.shared)
    plots.titles(
        (axes["runs"], axes["accuracy"], axes["V"]),
        rf"every run at $\gamma = {rate}$",
        rf"accuracy by $\gamma$, {found.swept}",
        "synchronization, dotted: predicted floor",
    )
    plots.legend(figure, axes["runs"])
    every = found.runs[["protocol", "topology", "gamma", "seed", "accuracy", "V", "diverged"]]
    return figure, together(found.by_gamma, found.floor, every)
