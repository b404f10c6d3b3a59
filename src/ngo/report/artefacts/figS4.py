"""Figure S4: correlation of V and test accuracy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ngo.analysis.correlations import correlations, run_ends
from ngo.analysis.statistics import ROUNDING
from ngo.report import captions, plots
from ngo.report.output import Output
from ngo.report.run_scatter import scatter
from ngo.report.style import TEXT_WIDTH, house_style


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from the metrics of runs."""
    runs = pd.read_parquet(metrics)
    figure, shown = draw(runs)
    plots.caption(
        figure,
        captions.classes(runs),
        "The end of each run. Pearson: of log V, with its 95 % interval over runs; "
        "within a seed: its mean over seeds with the 95 % interval of that.",
        captions.diverged(runs, means=False),
        captions.made_by(tier, runs),
    )
    picture = plots.save_figure(figure, f"{out}/figures/figS4", shown.assign(tier=tier))
    return Output(picture, (correlations(runs),))


def draw(metrics: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """V against accuracy at the end of every run, a panel for each data set and partition."""
    rows, found = run_ends(metrics), correlations(metrics)
    figure = plots.new_figure(3.4, max(TEXT_WIDTH * len(found) / 2, 5))
    axes = figure.subplots(1, len(found), squeeze=False)
    for axis, row in zip(axes[0], found.to_dict("records"), strict=True):
        own = (rows["dataset"] == row["dataset"]) & (rows["partition"] == row["partition"])
        scatter(axis, rows[own])
        axis.set_title(f"{row['dataset']}, {row['partition']}\n{_in_words(row)}", size="small")
    plots.legend(figure, *axes[0])
    return figure, rows.merge(found, on=["dataset", "partition"])


def _in_words(found: dict[str, float]) -> str:
    ends = found["pearson_low"], found["pearson_high"]
    interval = f" [{ends[0]:.2f}, {ends[1]:.2f}]" if np.isfinite(ends).all() else ""
    p_value = found["spearman_p"]
    chance = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
    spread = found["within_seed_ci95"]
    within = f"{found['within_seed']:.2f}" + (f" ± {spread:.2f}" if spread > ROUNDING else "")
    text = (
        f"Pearson $r$ = {found['pearson']:.2f}{interval}\nSpearman ρ = {found['spearman']:.2f} "
        f"({chance})\nwithin a seed $r$ = {within}"
    )
    return text.replace("-", "−")
