"""Figure 4: test accuracy and V against the exponent p."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from ngo.analysis.curves import along, points, scores, together
from ngo.analysis.evaluations import final
from ngo.report import plots
from ngo.report.curve_panels import Cases, by_protocol, decentralized, dots, lines
from ngo.report.output import Output
from ngo.report.run_figure import make_run_figure
from ngo.report.style import PROTOCOL_STYLES, Style, house_style


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from the metrics of runs."""
    return make_run_figure("fig4", draw, metrics, tier, out)


def draw(metrics: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Accuracy and V for each p along training and at its end; gossip is p = 1."""
    every = scores(metrics)
    course = along(every, ["protocol", "p"], "epoch", ["accuracy", "V"])
    ends = points(final(every), ["protocol", "p"], ["accuracy", "V"])
    cases = _by_exponent(course)
    across, spread = ends[ends["p"].isna()], ends[ends["p"].notna()]
    figure = plots.new_figure(4.2)
    axes = figure.subplots(2, 2, width_ratios=[1.5, 1])
    for row, value in zip(axes, ("accuracy", "V"), strict=True):
        lines(row[0], cases if value != "V" else decentralized(cases), "epoch", value)
        levels = by_protocol(across) if value != "V" else []
        dots(row[1], by_protocol(spread), "p", value, levels)
        row[1].set_xticks(sorted(spread["p"].unique()))
    axes[1, 0].set_xlabel("epoch")
    axes[1, 1].set_xlabel("exponent $p$")
    plots.titles(
        axes.flat,
        "accuracy by $p$",
        "accuracy at the end",
        "synchronization by $p$",
        "synchronization at the end",
    )
    plots.legend(figure, axes[0, 0])
    return figure, together(course, ends)


def _by_exponent(table: pd.DataFrame) -> Cases:
    """The rows of each protocol and p with a style; shades for NGO."""
    cases: Cases = []
    for style, rows in by_protocol(table):
        exponents = sorted(rows["p"].dropna().unique(), reverse=True)
        looks = [style.named(f"{style.label}, $p = {p:g}$") for p in exponents] or [style]
        if style == PROTOCOL_STYLES["ngo"]:
            looks = _shades(exponents)
        parts = [rows[rows["p"] == p] for p in exponents] or [rows]
        cases += zip(looks, parts, strict=True)
    return cases


def _shades(exponents: Iterable[float]) -> list[Style]:
    """NGO's style for each p, darker for smaller p."""
    base = np.array(to_rgb(PROTOCOL_STYLES["ngo"].colour))
    values = list(exponents)
    light = np.linspace(0.35, -0.65, len(values)) if len(values) > 1 else [0.0]
    return [
        Style(
            f"NGO, $p = {p:g}$",
            to_hex(base + (1 - base) * shade if shade > 0 else base * (1 + shade)),
            ("-", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))[k % 4],
            ("o", "^", "D", "v", "P", "X")[k % 6],
        )
        for k, (p, shade) in enumerate(zip(values, light, strict=True))
    ]
