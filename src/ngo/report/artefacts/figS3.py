"""Figure S3: scaling with the number of workers, the whole data set split evenly."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.report import captions, plots
from ngo.report.output import Output
from ngo.report.scaling_panels import draw_scaling
from ngo.report.style import house_style


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from the metrics of runs."""
    runs = pd.read_parquet(metrics)
    figure, shown = draw_scaling(runs)
    plots.caption(
        figure,
        "The whole data set is split evenly among the workers.",
        captions.intervals(runs, geometric=False),
        captions.diverged(runs),
        captions.made_by(tier, runs, paper="cifar10"),
    )
    return Output(plots.save_figure(figure, f"{out}/figures/figS3", shown.assign(tier=tier)))
