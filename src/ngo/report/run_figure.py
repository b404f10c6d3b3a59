"""A figure of training runs, drawn, captioned and saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ngo.report import captions, plots
from ngo.report.output import Output


def make_run_figure(
    name: str,
    draw: Callable[[pd.DataFrame], tuple[Figure, pd.DataFrame]],
    metrics: str | Path,
    tier: str,
    out: str | Path,
) -> Output:
    """Draw and save the figure ``name`` from the metrics of runs.

    ``draw`` returns the figure and the data shown in it.
    """
    runs = pd.read_parquet(metrics)
    figure, shown = draw(runs)
    plots.caption(
        figure,
        captions.classes(runs),
        captions.intervals(runs),
        captions.diverged(runs),
        captions.made_by(tier, runs),
    )
    return Output(plots.save_figure(figure, f"{out}/figures/{name}", shown.assign(tier=tier)))
