"""Figure S4: correlation of V and test accuracy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngo.analysis.correlations import correlations, on_log_axis, run_ends, within_seeds
from ngo.figures import captions, plots
from ngo.figures.output import Output
from ngo.figures.run_scatter import scatter
from ngo.figures.style import TEXT_WIDTH, house_style


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from the metrics of runs."""
    runs = pd.read_parquet(metrics)
    figure, shown = draw(runs)
    plots.caption(
        figure,
        captions.classes(runs),
        "The end of each run; grey: a line through the runs of each seed. Pearson: of log V, with "
        "its 95 % interval over runs; within a seed: pooled over seeds as the mean of Fisher's z, "
        "with the 95 % interval of that.",
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
        _draw_within(axis, rows[own])
        axis.set_title(f"{row['dataset']}, {row['partition']}\n{_in_words(row)}", size="small")
    plots.legend(figure, *axes[0])
    return figure, rows.merge(found, on=["dataset", "partition"])


def _draw_within(axis: Axes, ends: pd.DataFrame) -> None:
    """A grey line through the runs of each seed, by least squares."""
    ends = ends[on_log_axis(ends)]
    by_seed = within_seeds(ends, "accuracy")
    for seed, rows in ends.groupby("seed"):
        slope, log_V = by_seed.loc[seed, "slope"], np.log(rows["V"])
        if np.isfinite(slope):
            reach = np.array([log_V.min(), log_V.max()])
            height = rows["accuracy"].mean() + slope * (reach - log_V.mean())
            axis.plot(np.exp(reach), height, color="0.6", lw=0.6, zorder=1)


def _in_words(found: dict[str, float]) -> str:
    ends = found["pearson_low"], found["pearson_high"]
    interval = f" [{ends[0]:.2f}, {ends[1]:.2f}]" if np.isfinite(ends).all() else ""
    p_value = found["spearman_p"]
    chance = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
    pooled = found["within_seed_low"], found["within_seed_high"]
    spread = f" [{pooled[0]:.2f}, {pooled[1]:.2f}]" if np.isfinite(pooled).all() else ""
    within = f"{found['within_seed']:.2f}{spread}"
    text = (
        f"Pearson $r$ = {found['pearson']:.2f}{interval}\nSpearman ρ = {found['spearman']:.2f} "
        f"({chance})\nwithin a seed $r$ = {within}"
    )
    return text.replace("-", "−")
