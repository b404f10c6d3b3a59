"""Merge once: what averaging all workers now would gain, against V, over training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ngo.analysis.curves import together
from ngo.analysis.merging import BY, merge_curves, merge_ends, merges
from ngo.figures import captions, plots
from ngo.figures.case_styles import case_styles
from ngo.figures.curve_panels import lines
from ngo.figures.output import Output
from ngo.figures.style import house_style
from ngo.figures.tables import number, save_table

NOTE = (
    "The gain of merging is the accuracy of the mean of all models − the mean of the workers' "
    "accuracies, at each evaluation. Each case at its own best p, γ and learning rate by held-out "
    "accuracy."
)


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure and the table from the metrics of runs."""
    runs = pd.read_parquet(metrics)
    found = merges(runs)
    figure, shown = draw(found)
    made_by = captions.made_by(tier, runs)
    plots.caption(figure, NOTE, captions.intervals(runs), captions.diverged(found), made_by)
    picture = plots.save_figure(figure, f"{out}/figures/merge", shown.assign(tier=tier))
    table = merge_ends(found).assign(tier=tier)
    printed = print_ends(table)
    save_table(
        table,
        printed,
        f"{out}/tables/merge",
        f"At the end of training, {captions.mean_over_seeds(runs)}. V: geometric mean. {NOTE} "
        f"{made_by}",
    )
    return Output(picture, (printed,))


def draw(found: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """The gain against V of all evaluations, and by epoch, for each data set."""
    curves = merge_curves(found)
    sets = list(found.groupby(BY[:-1], sort=False))
    looks = case_styles(found)
    figure = plots.new_figure(2.3 * len(sets) + 0.8)
    axes = figure.subplots(len(sets), 2, squeeze=False)
    for (left, right), (situation, rows) in zip(axes, sets, strict=True):
        plots.log_axis(left.xaxis)
        for name, part in rows[rows["V"] > 0].groupby("case"):
            look = looks[name]
            left.plot(
                part["V"], part["gain"], look.marker, color=look.colour, markersize=2.5, alpha=0.5
            )
        left.set(xlabel="index $V$", ylabel="gain of merging (points)")
        own = curves[(curves[BY[:-1]] == list(situation)).all(axis=1)]
        lines(right, [(looks[name], part) for name, part in own.groupby("case")], "epoch", "gain")
        right.set(xlabel="epoch", ylabel="")
        for axis in (left, right):
            axis.axhline(0, color="0.6", lw=1)
    titles = [title for name, _ in sets for title in (", ".join(name), "by epoch")]
    plots.titles(axes.flat, *titles)
    plots.legend(figure, axes[0, 1])
    return figure, together(curves, found[[*BY, "seed", "epoch", "V", "gain"]])


def print_ends(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of ``merging.merge_ends``."""
    wide = table.pivot(index=BY, columns="value").sort_index()
    gain, low, high = (wide[name, "gain"] for name in ("mean", "low", "high"))
    return pd.DataFrame(
        {
            "Data": wide.index.get_level_values("dataset"),
            "Partition": wide.index.get_level_values("partition"),
            "Case": wide.index.get_level_values("case"),
            "Gain of merging": [
                number(mean, plus=True)
                + (f" [{number(a)}, {number(b)}]" if np.isfinite([a, b]).all() else "")
                for mean, a, b in zip(gain, low, high, strict=True)
            ],
            "V": [f"{V:.3g}" for V in wide["mean", "V"]],
        }
    )
