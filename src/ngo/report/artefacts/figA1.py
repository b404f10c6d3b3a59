"""Figure A1: generations on each worker after few and after many iterations, non-iid."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ngo.figures import captions, plots
from ngo.figures.image_mosaics import draw_generations, pixel_rows
from ngo.figures.output import Output
from ngo.figures.style import house_style


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from ``samples.samples_table``: images of the first seed."""
    samples = pd.read_parquet(metrics).assign(tier=tier)
    seed = samples["seed"].min()
    shown = samples[samples["seed"] == seed]
    figure = draw(shown)
    plots.caption(
        figure,
        "A row is one code, the same for all workers. Pixels are the likelihood's expected values.",
        f"The images are of seed {seed}." if len(shown) < len(samples) else "",
        _variances(samples),
        captions.made_by(tier, samples),
    )
    generations = shown[shown["kind"] == "generation"]
    return Output(plots.save_figure(figure, f"{out}/figures/figA1", pixel_rows(generations)))


def _variances(samples: pd.DataFrame) -> str:
    """The variance between the workers' images at each step; the mean over runs."""
    found = samples.drop_duplicates(["run", "step"]).groupby("step")["workers_variance"].mean()
    steps = [f"{variance:.2g} after {step:,} iterations" for step, variance in found.items()]
    return (
        "Variance of a pixel between workers, its grey level from 0 to 1: " + ", ".join(steps) + "."
    )


def draw(table: pd.DataFrame) -> Figure:
    """A row of panels for each run, with a panel for each kept step.

    A column of a panel is a worker; a row is a code, the same for all workers.
    """
    runs = [run for _, run in table.groupby("run", sort=False)]
    steps = sorted(table["step"].unique())
    figure = plots.new_figure(3.0 * len(runs) + 0.8)
    axes = figure.subplots(len(runs), len(steps), squeeze=False)
    for row, run in zip(axes, runs, strict=True):
        for axis, step in zip(row, steps, strict=True):
            axis.set_axis_off()
            own = run[run["step"] == step]
            if len(own):
                axis.set_axis_on()
                draw_generations(axis, own, int(own["image"].max()) + 1)
                lost = ", diverged" if own["diverged"].any() else ""
                axis.set(title=f"after {step} iterations{lost}", ylabel="code")
    return figure
