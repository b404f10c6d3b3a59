"""Figure 4: test accuracy and V against the exponent p, for several synchronization rates γ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from ngo.analysis.curves import together
from ngo.analysis.nonlinearity import nonlinearity
from ngo.figures import plots
from ngo.figures.curve_panels import LABELS, Cases, by_method, decentralized, dots, lines
from ngo.figures.output import Output
from ngo.figures.run_figure import make_run_figure
from ngo.figures.style import METHOD_STYLES, Style, house_style, kth_style

NOTE = (
    "p = 1: gossip. Left: the end of training, a line for each γ; circles: the γ of each p with "
    "the best held-out accuracy; thin dotted lines: the predicted floor of V, where coordinates "
    "alternate between two values. Right: training at the circled γ."
)


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from the metrics of runs."""
    return make_run_figure("fig4", draw, metrics, tier, out, NOTE)


def draw(metrics: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Accuracy and V at the end by p, a line for each γ; along training at each p's own best γ."""
    found = nonlinearity(metrics)
    spread = found.ends[found.ends["p"].notna()]
    rates = sorted(spread["gamma"].unique())
    by_rate = [
        (_solid(kth_style(k, rf"$\gamma = {rate:g}$")), spread[spread["gamma"] == rate])
        for k, rate in enumerate(rates)
    ]
    levels = by_method(found.ends[found.ends["p"].isna()])
    figure = plots.new_figure(5)
    axes = figure.subplots(2, 2, width_ratios=[1.2, 1])
    courses = _by_exponent(found.course) if len(found.course) else []
    for row, value in zip(axes, ("accuracy", "V"), strict=True):
        dots(row[0], by_rate, "p", value, levels if value != "V" else [])
        row[0].set_xticks(sorted(spread["p"].unique()))
        _mark_best(row[0], found.best, spread[spread["value"] == value])
        cases = courses if value != "V" else decentralized(courses)
        if cases:
            lines(row[1], cases, "epoch", value)
        else:
            row[1].text(0.5, 0.5, "no held-out samples", transform=row[1].transAxes, ha="center")
            row[1].set_ylabel(LABELS[value])
    _draw_floor(axes[1, 0], by_rate, found.floor)
    axes[1, 0].set_xlabel("exponent $p$")
    axes[1, 1].set_xlabel("epoch")
    plots.titles(
        axes.flat,
        "accuracy by $p$",
        r"accuracy at each $p$'s own best $\gamma$",
        "synchronization by $p$",
        r"synchronization at each $p$'s own best $\gamma$",
    )
    for axis, columns in zip(axes[0], (3, 2), strict=True):
        if axis.get_legend_handles_labels()[1]:
            place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.13), "borderaxespad": 0}
            axis.legend(**place, ncols=columns, handlelength=2.4, columnspacing=1, fontsize="small")
    return figure, together(found.ends, found.floor, found.course)


def _mark_best(axis: Axes, best: pd.DataFrame, ends: pd.DataFrame) -> None:
    """A circle around the marker of each p at its own best γ."""
    chosen = ends.merge(best[["method", "p", "gamma"]], on=["method", "p", "gamma"])
    look = {"markerfacecolor": "none", "markeredgecolor": "black", "markersize": 9}
    axis.plot(chosen["p"], chosen["mean"], "o", **look, label="best $\\gamma$ of $p$", zorder=4)


def _draw_floor(axis: Axes, by_rate: Cases, floor: pd.DataFrame) -> None:
    """The predicted floor against p for each γ, where it is on the axis."""
    axis.autoscale(False)
    for style, rows in by_rate:
        own = floor[floor["gamma"] == rows["gamma"].iloc[0]].sort_values("p")
        axis.plot(own["p"], own["mean"], ":", color=style.colour, lw=1)


def _solid(style: Style) -> Style:
    """``style`` with a solid line: dotted ones are floors."""
    return replace(style, line="-")


def _by_exponent(table: pd.DataFrame) -> Cases:
    """The rows of each method and p with a style, which names its γ; shades for NGO."""
    cases: Cases = []
    for style, rows in by_method(table):
        exponents = sorted(rows["p"].dropna().unique(), reverse=True)
        parts = [rows[rows["p"] == p] for p in exponents] or [rows]
        shades = style == METHOD_STYLES["ngo"]
        looks = _shades(exponents) if shades else [style] * len(parts)
        for look, part in zip(looks, parts, strict=True):
            p, gamma = part["p"].iloc[0], part["gamma"].iloc[0]
            name = rf"{style.label}, $p = {p:g}$, $\gamma = {gamma:g}$"
            cases.append((look.named(name if pd.notna(p) else style.label), part))
    return cases


def _shades(exponents: Iterable[float]) -> list[Style]:
    """NGO's style for each p, darker for smaller p."""
    base = np.array(to_rgb(METHOD_STYLES["ngo"].colour))
    values = list(exponents)
    light = np.linspace(0.35, -0.65, len(values)) if len(values) > 1 else [0.0]
    return [
        Style(
            "NGO",
            to_hex(base + (1 - base) * shade if shade > 0 else base * (1 + shade)),
            ("-", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))[k % 4],
            ("o", "^", "D", "v", "P", "X")[k % 6],
        )
        for k, shade in enumerate(light)
    ]
