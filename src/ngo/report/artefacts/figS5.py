"""Figure S5: reconstructions by the consensus model, and generations by each worker."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ngo.figures import captions, plots
from ngo.figures.image_mosaics import draw_generations, draw_mosaic, images, pixel_rows
from ngo.figures.output import Output
from ngo.figures.style import house_style

PAIRS = 2
"""Rows of originals above their reconstructions."""


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from ``samples.samples_table``."""
    samples = pd.read_parquet(metrics).assign(tier=tier)
    figure = draw(samples)
    plots.caption(
        figure,
        "Left: test images over their reconstructions. Right: a row is one code, the same for all "
        "workers. Pixels are the likelihood's expected values. The paper's reconstructions are of "
        "CIFAR-10, its generations of MNIST.",
        _losses(samples),
        captions.made_by(tier, samples),
    )
    return Output(plots.save_figure(figure, f"{out}/figures/figS5", pixel_rows(samples)))


def _losses(samples: pd.DataFrame) -> str:
    """The losses of reconstructions beside those of class means; means over the runs."""
    last = samples[samples["step"] == samples.groupby("run")["step"].transform("max")]
    columns = ["reconstruction_loss", "class_means_loss"]
    found = last.drop_duplicates("run").groupby("dataset", sort=False)[columns].mean()
    return "Loss of reconstructions in nats per test image, and of the mean of its class: " + (
        "; ".join(f"{name} {own:,.0f} and {means:,.0f}" for name, own, means in found.itertuples())
        + "."
    )


def draw(table: pd.DataFrame) -> Figure:
    """Two panels for each run: reconstructions on the left, generations on the right.

    All workers generate from the same codes, one for each row of the left panel.
    """
    runs = [run for _, run in table.groupby("run", sort=False)]
    figure = plots.new_figure(2.2 * len(runs) + 0.3)
    panels = figure.subfigures(len(runs), 1, squeeze=False)[:, 0]
    for panel, run in zip(panels, runs, strict=True):
        run = run[run["step"] == run["step"].max()]
        dataset, workers = run["dataset"].iloc[0], int(run["worker"].max()) + 1
        originals = images(run, "original", -1)
        reconstructions = images(run, "reconstruction", -1)
        columns = -(-len(originals) // PAIRS)
        left, right = panel.subplots(1, 2, gridspec_kw={"width_ratios": (columns, workers)})
        rows = [
            pictures[start : start + columns]
            for start in range(0, len(originals), columns)
            for pictures in (originals, reconstructions)
        ]
        draw_mosaic(left, rows)
        size = originals.shape[1] + 1
        left.set_yticks(
            size * (np.arange(len(rows)) + 0.5), ["original", "reconstruction"] * (len(rows) // 2)
        )
        lost = ", diverged" if run["diverged"].any() else ""
        left.set(title=f"{dataset}: reconstructions{lost}")
        draw_generations(right, run, len(rows))
        right.set(title=f"{dataset}: generations on each worker")
    return figure
