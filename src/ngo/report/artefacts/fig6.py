"""Figure 6: consensus every 1, 2 and 5 steps, with linear and nonlinear coupling."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ngo.analysis.curves import along, scores
from ngo.report import plots
from ngo.report.curve_panels import by_protocol, decentralized, lines
from ngo.report.output import Output
from ngo.report.run_figure import make_run_figure
from ngo.report.style import COLOURS, PROTOCOL_STYLES, house_style, kth_style


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from the metrics of runs."""
    return make_run_figure("fig6", draw, metrics, tier, out)


def draw(metrics: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Accuracy and V with a consensus step after every step, and after every few (local SGD)."""
    by = ["protocol", "p", "local_steps"]
    table = along(scores(metrics), by, "epoch", ["accuracy", "V"])
    couplings = sorted(table["p"].dropna().unique(), reverse=True)
    periods = sorted(table.loc[table["protocol"] == "local_sgd", "local_steps"].unique())
    first = COLOURS.index(PROTOCOL_STYLES["local_sgd"].colour)
    looks = {
        period: kth_style(first + k, f"local SGD, every {period} steps")
        for k, period in enumerate(periods)
    }
    figure = plots.new_figure(4.2)
    axes = figure.subplots(2, len(couplings), squeeze=False)
    for k, p in enumerate(couplings):
        cases = []
        for look, own in by_protocol(table[table["p"].isna() | (table["p"] == p)]):
            if own["protocol"].iloc[0] == "local_sgd":
                cases += [(looks[period], rows) for period, rows in own.groupby("local_steps")]
            else:
                often = look.named(f"{look.label}, every step")
                cases.append((often if own["p"].notna().any() else look, own))
        for row, value in zip(axes, ("accuracy", "V"), strict=True):
            lines(row[k], cases if value != "V" else decentralized(cases), "epoch", value)
        axes[1, k].set_xlabel("epoch")
    for row in axes:
        plots.share_limits(*row)
    names = ["linear coupling" if p == 1 else f"nonlinear coupling, $p = {p:g}$" for p in couplings]
    plots.titles(axes.flat, *names, *names)
    plots.legend(figure, *axes[0])
    return figure, table
