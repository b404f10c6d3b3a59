"""A figure of training runs, drawn, captioned and saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ngo.figures import captions, plots
from ngo.figures.output import Output


def make_run_figure(
    name: str,
    draw: Callable[..., tuple[Figure, pd.DataFrame]],
    metrics: str | Path,
    tier: str,
    out: str | Path,
    *notes: str,
    **more: str | Path,
) -> Output:
    """Draw and save the figure ``name`` from the metrics of runs.

    ``draw`` returns the figure and the data shown in it. It is called with the tidy table
    ``metrics`` and with further ones by name, ``more``; the caption is about the runs of all of
    them. ``notes`` are the first sentences of the caption.
    """
    table = pd.read_parquet(metrics)
    others = {key: pd.read_parquet(path) for key, path in more.items()}
    figure, shown = draw(table, **others)
    runs = pd.concat([table, *others.values()], ignore_index=True) if others else table
    plots.caption(
        figure,
        *notes,
        captions.classes(runs),
        captions.intervals(runs),
        captions.diverged(runs),
        captions.made_by(tier, runs),
    )
    return Output(plots.save_figure(figure, f"{out}/figures/{name}", shown.assign(tier=tier)))
