"""Test accuracy and the synchronization index V at the end of training for several exponents p and
synchronization rates γ, and during training at the best γ of each p; p = 1 is linear gossip.

*The paper:* a smaller p (stronger nonlinearity) improves both. *Look at* the lines of the small γ,
and at where V follows the predicted floor: there p is compared by its chatter, not by its speed.
The circles are at the γ of each p with the best held-out accuracy. Claim 41a takes each p at the γ
of its smallest V instead.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from ngo import plots
from ngo.analysis.chatter import chatter_floor
from ngo.analysis.curves import along, part, points, scores, together
from ngo.analysis.tuning import best_settings, tuning_grid
from ngo.plots import captions
from ngo.plots.curve_panels import LABELS, by_exponent, by_method, dots, having, lines
from ngo.plots.declaration import figure
from ngo.plots.style import Style, kth_style
from verdicts.rows.evaluations import final

BY = ["method", "p", "gamma"]


@figure(
    "fig4",
    section="5.2 Impact of nonlinearity",
    title="Figure 4: accuracy and V against p, for several synchronization rates γ",
    apart=("method", "p", "gamma"),
)
def numbers(metrics: pd.DataFrame) -> pd.DataFrame:
    """The means over seeds, in three parts.

    ``ends``: accuracy and V at the end, by method, p and γ; ``best`` marks the γ of each p with
    the best held-out accuracy. ``course``: the same along training at that γ, and of centralized
    learning. ``floor``: the predicted floor of NGO's V.
    """
    every = scores(metrics)
    ends = points(final(every), BY, ["accuracy", "V"])
    best = _own_best(metrics)
    ends = ends.merge(best, on=BY, how="left")
    chosen = every.merge(best, on=BY) if len(best) else every[every["gamma"].isna()]
    course = along(chosen, BY, "epoch", ["accuracy", "V"]) if len(chosen) else chosen
    floor = chatter_floor(metrics[metrics["method"] == "ngo"])
    return together(ends=ends.assign(best=ends["best"].notna()), floor=floor, course=course)


def _own_best(metrics: pd.DataFrame) -> pd.DataFrame:
    """The best γ of each method and p by held-out accuracy; no rows without held-out samples."""
    if "holdout_accuracy" not in metrics or metrics["holdout_accuracy"].isna().all():
        return pd.DataFrame(columns=[*BY, "best"])
    return best_settings(tuning_grid(metrics), BY[:2])[BY].assign(best=True)


def note(numbers: pd.DataFrame, metrics: pd.DataFrame) -> list[str]:
    """How to read the drawing."""
    return [
        "p = 1: gossip. Left: the end of training, a line for each γ; circles: the γ of each p "
        "with the best held-out accuracy; thin dotted lines: the predicted floor of V, where "
        "coordinates alternate between two values. Right: training at the circled γ.",
        *captions.about(metrics),
    ]


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """Accuracy and V at the end by p, a line for each γ; along training at each p's own best γ."""
    ends, floor = part(numbers, "ends"), part(numbers, "floor")
    spread = ends[ends["p"].notna()]
    by_rate = [  # solid lines: dotted ones are floors
        (replace(kth_style(k, rf"$\gamma = {rate:g}$"), line="-"), rows)
        for k, (rate, rows) in enumerate(spread.groupby("gamma"))
    ]
    levels = by_method(ends[ends["p"].isna()])
    figure, axes = plots.panels(5, 2, 2, width_ratios=[1.2, 1])
    courses = by_exponent(part(numbers, "course"), _with_rate)
    for row, value in zip(axes, ("accuracy", "V"), strict=True):
        dots(row[0], by_rate, "p", value, levels)
        row[0].set_xticks(sorted(spread["p"].unique()))
        best = spread[(spread["value"] == value) & spread["best"]]
        look = {"markerfacecolor": "none", "markeredgecolor": "black", "markersize": 9}
        label = "best $\\gamma$ of $p$"
        row[0].plot(best["p"], best["mean"], "o", **look, label=label, zorder=4)
        if having(value, courses):
            lines(row[1], courses, "epoch", value)
        else:
            row[1].text(0.5, 0.5, "no held-out samples", transform=row[1].transAxes, ha="center")
            row[1].set_ylabel(LABELS[value])
    axes[1, 0].autoscale(False)
    for style, rows in by_rate:  # the predicted floor, where it is on the axis
        own = floor[floor["gamma"] == rows["gamma"].iloc[0]].sort_values("p")
        axes[1, 0].plot(own["p"], own["mean"], ":", color=style.colour, lw=1)
    axes[1, 0].set_xlabel("exponent $p$")
    axes[1, 1].set_xlabel("epoch")
    sides = ("by $p$", r"at each $p$'s own best $\gamma$")
    names = [f"{what} {side}" for what in ("accuracy", "synchronization") for side in sides]
    plots.titles(axes.flat, *names)
    for axis, columns in zip(axes[0], (3, 2), strict=True):
        if axis.get_legend_handles_labels()[1]:
            place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.13), "borderaxespad": 0}
            axis.legend(**place, ncols=columns, handlelength=2.4, columnspacing=1, fontsize="small")
    return figure


def _with_rate(style: Style, rows: pd.DataFrame) -> str:
    """The label of a method at one p and γ."""
    p, gamma = rows["p"].iloc[0], rows["gamma"].iloc[0]
    return style.label + (rf", $p = {p:g}$, $\gamma = {gamma:g}$" if pd.notna(p) else "")
