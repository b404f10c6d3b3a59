"""Figure S3: training curves of 4 to 64 workers, the whole data set split evenly."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ngo.analysis.curves import together
from ngo.analysis.scaling import equal_steps
from ngo.figures import captions, plots
from ngo.figures.curve_panels import dots, lines
from ngo.figures.output import Output
from ngo.figures.style import house_style
from ngo.figures.topology_cases import by_topology


@house_style()
def make(metrics: str | Path, target_accuracy: float, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from the metrics of runs; ``target_accuracy`` is a share of 1."""
    runs = pd.read_parquet(metrics)
    figure, shown = draw(runs, target_accuracy)
    late = int(shown["late"].sum())
    missing = f"; cases with runs that do not get there ({late}) are left out" if late else ""
    plots.caption(
        figure,
        "The whole data set is split evenly among the n workers; all runs take equally many steps "
        f"({shown['steps'].iloc[0]}) of {_batch(runs)} samples a worker.",
        f"Steps to the target are linear between evaluations{missing}.",
        captions.intervals(runs, geometric=False),
        captions.diverged(runs),
        captions.made_by(tier, runs, paper="cifar10"),
    )
    return Output(plots.save_figure(figure, f"{out}/figures/figS3", shown.assign(tier=tier)))


def draw(metrics: pd.DataFrame, target: float) -> tuple[Figure, pd.DataFrame]:
    """The accuracy along training for each n; against n, the steps to the accuracy ``target`` and
    NGO − gossip after equally many steps.
    """
    found = equal_steps(metrics, target)
    sizes = sorted(found.course["workers"].unique())
    figure = plots.new_figure(4.4)
    above, below = figure.subfigures(2, 1)
    curves = above.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for axis, n in zip(curves, sizes, strict=True):
        lines(axis, by_topology(found.course[found.course["workers"] == n]), "step", "accuracy")
        axis.set_xlabel("step")
    plots.share_limits(*curves)
    for axis in curves[1:]:
        axis.set_ylabel("")
    times, gain = below.subplots(1, 2)
    for axis in (times, gain):
        plots.value_ticks(axis, sizes, base=2)
        axis.set_xlabel("workers $n$")
    dots(times, by_topology(found.times), "workers", "steps_to_target")
    dots(gain, by_topology(found.gain), "workers", "difference")
    gain.axhline(0, color="0.6", lw=0.6, zorder=0)
    plots.titles(
        (*curves, times, gain),
        *(f"$n = {n}$" for n in sizes),
        f"steps to a test accuracy of {100 * target:g} %",
        "difference at equal steps, paired by seed",
    )
    plots.legend(figure, curves[0])
    table = together(
        found.course.assign(at="step"),
        found.ends.assign(at="equal steps"),
        found.times.assign(at="target"),
        found.gain.assign(at="equal steps"),
    )
    return figure, table.assign(steps=found.steps, target=target)


def _batch(runs: pd.DataFrame) -> str:
    """The samples of a batch, as far as known."""
    sizes = sorted(runs["batch_size"].unique()) if "batch_size" in runs else []
    return " or ".join(f"{size}" for size in sizes) or "some"
