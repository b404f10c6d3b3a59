"""Figure 7: scaling with the number of workers, the same amount of data for each worker."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.figures import captions, plots
from ngo.figures.output import Output
from ngo.figures.scaling_panels import draw_scaling
from ngo.figures.style import house_style


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from the metrics of runs."""
    runs = pd.read_parquet(metrics)
    figure, shown = draw_scaling(runs)
    plots.caption(
        figure,
        f"Every worker has {runs['samples_per_worker'].max():.0f} samples. Best: the highest "
        "accuracy of a run's evaluations on the whole test set.",
        captions.intervals(runs, geometric=False),
        captions.diverged(runs),
        captions.made_by(tier, runs, paper="cifar10"),
    )
    return Output(plots.save_figure(figure, f"{out}/figures/fig7", shown.assign(tier=tier)))
