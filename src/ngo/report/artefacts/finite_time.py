"""Consensus in finite time, kept in discrete steps: V by rounds of each coupling at its best."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngo.analysis.curves import points
from ngo.analysis.mixers import best_rows, comparison, with_mixers
from ngo.analysis.rounds_bounds import with_bounds
from ngo.figures import plots
from ngo.figures.curve_panels import Cases, dots, lines
from ngo.figures.output import Output
from ngo.figures.style import LINES, house_style, kth_style
from ngo.figures.tables import number, save_table

KINDS = {
    "drift": ("heterogeneous drift", "drift in a round"),
    "noise": ("noise", "noise in a round"),
    "delay": ("late messages", "delay $\\tau$ in rounds"),
    "loss": ("failing links", "probability of failure"),
    "kept": ("compression", "share of the entries sent"),
}
FLOORS = ("drift", "noise")
"""Disturbances under which V does not go to 0."""

MIXERS = ("linear", "NGO", "capped", "implicit", "chebyshev")

NOTE = (
    "No learning: all workers start from Gaussian states. Each way to mix is at the p and γ that "
    "are best on half of the seeds; shown are the other seeds. Top: undisturbed, best by V after "
    "{early} rounds. Below: V under one disturbance, over that of linear gossip on the same graph; "
    "under drift and noise, which leave a floor, the mean over the last quarter of {rounds} "
    "rounds, otherwise V after {early} rounds. Drift and noise are standard deviations over "
    "workers; at the start, that of all states is 1."
)


@house_style()
def make(
    ring: str | Path, matchings: str | Path, exact: str | Path, tier: str, out: str | Path
) -> Output:
    """Draw and save the figure and the table from ``measures.rounds``.

    On the ``ring``, over ``matchings``, and over graphs that average in finitely many rounds.
    """
    parts = [pd.read_parquet(path) for path in (ring, matchings, exact)]
    table = pd.concat(parts, ignore_index=True)
    figure, shown = draw(table)
    facts = {"early": table["early"].iloc[0], "rounds": table["round"].max()}
    about = (
        f"{table['workers'].iloc[0]} workers; tier {tier}; no data set; "
        f"{table['seed'].nunique()} seeds."
    )
    plots.caption(figure, NOTE.format(**facts), about)
    picture = plots.save_figure(figure, f"{out}/figures/finite_time", shown.assign(tier=tier))
    found = numbers(table).assign(tier=tier)
    printed = print_numbers(found)
    save_table(
        found,
        printed,
        f"{out}/tables/finite_time",
        "V of each way to mix at its own best p and γ, geometric means [95 % interval], and its "
        f"ratio to linear gossip's on the same graph, paired by seed: after {facts['early']} "
        "rounds; under drift and noise, which leave a floor, the mean over the last quarter of "
        f"{facts['rounds']} rounds. p and γ are chosen on half of the seeds, and V is that of the "
        "others. V at most: the largest V that undisturbed linear or accelerated rounds can leave. "
        "T*: the rounds after which NGO would agree in continuous time, by Theorem 3.1 with the "
        f"factor that its proof loses. {about}",
    )
    return Output(picture, (printed,))


def numbers(table: pd.DataFrame) -> pd.DataFrame:
    """``rounds.comparison`` by ``V_early``, by ``V_settled`` under disturbances that leave a floor.

    Undisturbed rounds have bounds too (``with_bounds``).
    """
    clean, floor = table["disturbance"] == "none", table["disturbance"].isin(FLOORS)
    start = table[clean & (table["round"] == 0)]
    n, early = int(table["workers"].iloc[0]), int(table["early"].iloc[0])
    parts = [with_bounds(comparison(table[clean], "V_early"), n, early, start["V"].mean())]
    for rows, value in ((~clean & ~floor, "V_early"), (floor, "V_settled")):
        if rows.any():
            parts.append(comparison(table[rows], value))
    return pd.concat(parts, ignore_index=True)


def draw(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """V by rounds and by messages, undisturbed; V that settles under each disturbance."""
    known = with_mixers(table)
    clean = best_rows(known[known["disturbance"] == "none"], "V_early")
    by = ["mixer", "topology", "p", "gamma", "round"]
    rows = clean.assign(diverged=~np.isfinite(clean["V"]), run=clean["seed"])
    course = points(rows, by, ["V"])
    sent = clean.groupby(by)["messages"].mean() / clean["workers"].iloc[0]
    course = course.merge(sent.rename("messages").reset_index(), on=by)
    settled = numbers(table).query("disturbance != 'none'")
    kinds = [kind for kind in KINDS if kind in set(settled["disturbance"])]
    graphs = sorted({*course["topology"], *settled["topology"]}, key=_ring_first)
    figure = plots.new_figure(2.2 * (1 + -(-len(kinds) // 3)) + 0.8)
    grid = figure.add_gridspec(1 + -(-len(kinds) // 3), 6)
    top = [figure.add_subplot(grid[0, :3]), figure.add_subplot(grid[0, 3:])]
    for axis, x in zip(top, ("round", "messages"), strict=True):
        lines(axis, _cases(course, graphs), x, "V")
        axis.set_xlabel("rounds" if x == "round" else "models sent by a worker")
    below = [
        figure.add_subplot(grid[1 + k // 3, 2 * (k % 3) : 2 * (k % 3) + 2])
        for k in range(len(kinds))
    ]
    for axis, kind in zip(below, kinds, strict=True):
        _draw_ratios(axis, settled[settled["disturbance"] == kind], graphs)
        axis.set_xlabel(KINDS[kind][1])
    names = [KINDS[kind][0] for kind in kinds]
    plots.titles([*top, *below], "undisturbed", "undisturbed, by messages", *names)
    plots.legend(figure, top[0])
    return figure, pd.concat([course, settled], ignore_index=True)


def print_numbers(found: pd.DataFrame) -> pd.DataFrame:
    """The printed form of ``numbers``."""
    strength = found["strength"].map("{:g}".format).where(found["disturbance"] != "none", "")
    return pd.DataFrame(
        {
            "Disturbance": (found["disturbance"] + " " + strength).str.strip(),
            "Graph": found["topology"],
            "Mixing": found["mixer"],
            "Best p": found["p"].map("{:g}".format),
            "Best γ": found["gamma"].map("{:g}".format),
            "V": _with_interval(found, ""),
            "V at most": _scientific(found["V_bound"]),
            "T*": _scientific(found["T_star"]),
            "V / linear": _with_interval(found, "ratio_"),
        }
    )


def _scientific(values: pd.Series) -> list[str]:
    return [number(np.nan) if np.isnan(value) else f"{value:.2e}" for value in values]


def _with_interval(found: pd.DataFrame, prefix: str) -> list[str]:
    rows = found[[f"{prefix}{name}" for name in ("mean", "low", "high")]].to_numpy(float)
    return [
        f"{mean:.2e}" + (f" [{low:.1e}, {high:.1e}]" if np.isfinite(low) else "")
        if np.isfinite(mean)
        else number(np.nan)
        for mean, low, high in rows
    ]


def _draw_ratios(axis: Axes, settled: pd.DataFrame, graphs: list[str]) -> None:
    """V over linear gossip's, against the strength of a disturbance."""
    names = {f"ratio_{end}": end for end in ("mean", "low", "high")}
    rows = settled.drop(columns=list(names.values())).rename(columns=names)
    rows = rows[rows["mixer"] != "linear"].assign(value="ratio")
    axis.axhline(1, color="0.6", lw=1)
    plots.value_ticks(axis, rows["strength"].unique())
    dots(axis, _cases(rows, graphs), "strength", "ratio")
    bottom, top = axis.get_ylim()
    axis.set_ylim(min(bottom, 0.9), max(top, 1.1))


def _cases(rows: pd.DataFrame, graphs: list[str]) -> Cases:
    """The rows of each mixer on each graph: a colour and marker for one, a line for the other."""
    found = []
    for k, mixer in enumerate(MIXERS):
        for line, graph in zip(cycle(LINES), graphs):
            part = rows[(rows["mixer"] == mixer) & (rows["topology"] == graph)]
            look = replace(kth_style(k, f"{mixer}, {graph.replace('_', ' ')}"), line=line)
            found += [(look, part)] if len(part) else []
    return found


def _ring_first(graph: str) -> tuple[bool, str]:
    return graph != "ring", graph
