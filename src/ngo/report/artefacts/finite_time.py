"""Consensus in finite time, kept in discrete steps: V by rounds of each coupling at its best."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngo.analysis.curves import points
from ngo.analysis.rounds import at_best, comparison, with_mixers
from ngo.report import plots
from ngo.report.curve_panels import Cases, lines
from ngo.report.output import Output
from ngo.report.style import house_style, kth_style
from ngo.report.tables import number, save_table

KINDS = {
    "drift": "drift in a round (standard deviation over workers)",
    "noise": "noise in a round (standard deviation)",
    "delay": "delay $\\tau$ (rounds)",
    "loss": "probability that a link fails",
    "kept": "share of the entries sent",
}

NOTE = (
    "No learning: all workers start from Gaussian states. Each way to mix is at the p and γ that "
    "are best on half of the seeds; shown are the other seeds. Top: undisturbed, best by V after "
    "{early} rounds. Below: the mean of V over the last quarter of {rounds} rounds under one "
    "disturbance, best by that mean. Values below rounding error are drawn there."
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
        f"ratio to linear gossip's on the same graph, paired by seed. Undisturbed: after "
        f"{facts['early']} rounds. Disturbed: the mean over the last quarter of {facts['rounds']} "
        f"rounds. p and γ are chosen on half of the seeds, and V is that of the others. {about}",
    )
    return Output(picture, (printed,))


def numbers(table: pd.DataFrame) -> pd.DataFrame:
    """``rounds.comparison``: undisturbed by ``V_early``, under disturbances by ``V_settled``."""
    clean = table["disturbance"] == "none"
    parts = [comparison(table[clean], "V_early")]
    if not clean.all():
        parts.append(comparison(table[~clean]))
    return pd.concat(parts, ignore_index=True)


def draw(table: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """V by rounds and by messages, undisturbed; V that settles by strength, for each disturbance."""
    known = with_mixers(table)
    clean = at_best(known[known["disturbance"] == "none"], "V_early")
    by = ["mixer", "topology", "p", "gamma", "round"]
    rows = clean.assign(diverged=~np.isfinite(clean["V"]), run=clean["seed"])
    course = points(rows, by, ["V"])
    sent = clean.groupby(by)["messages"].mean() / clean["workers"].iloc[0]
    course = course.merge(sent.rename("messages").reset_index(), on=by)
    settled = numbers(table).query("disturbance != 'none'").assign(value="V")
    kinds = [kind for kind in KINDS if kind in set(settled["disturbance"])]
    looks = {
        key: kth_style(k, " on ".join(key).replace("_", " "))
        for k, key in enumerate(sorted({*_keys(course), *_keys(settled)}))
    }
    figure = plots.new_figure(2.4 * (1 + -(-len(kinds) // 3)))
    panels = figure.subplots(1 + -(-len(kinds) // 3), 6, squeeze=False)
    grid = panels[0, 0].get_gridspec()
    for panel in panels.flat:
        panel.remove()
    top = [figure.add_subplot(grid[0, :3]), figure.add_subplot(grid[0, 3:])]
    for axis, x in zip(top, ("round", "messages"), strict=True):
        lines(axis, _cases(course, looks), x, "V")
        axis.set_xlabel("rounds" if x == "round" else "models sent by a worker")
    below = [
        figure.add_subplot(grid[1 + k // 3, 2 * (k % 3) : 2 * (k % 3) + 2])
        for k in range(len(kinds))
    ]
    for axis, kind in zip(below, kinds, strict=True):
        _draw_settled(axis, _cases(settled[settled["disturbance"] == kind], looks), kind)
    plots.titles([*top, *below], "undisturbed", "undisturbed, by messages", *kinds)
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
            "V / linear": _with_interval(found, "ratio_"),
        }
    )


def _with_interval(found: pd.DataFrame, prefix: str) -> list[str]:
    rows = found[[f"{prefix}{name}" for name in ("mean", "low", "high")]].to_numpy(float)
    return [
        f"{mean:.2e}" + (f" [{low:.1e}, {high:.1e}]" if np.isfinite(low) else "")
        if np.isfinite(mean)
        else number(np.nan)
        for mean, low, high in rows
    ]


def _draw_settled(axis: Axes, cases: Cases, kind: str) -> None:
    lines(axis, cases, "strength", "V")
    axis.set_xlabel(KINDS[kind])


def _keys(rows: pd.DataFrame) -> list[tuple[str, str]]:
    return list(rows[["mixer", "topology"]].itertuples(index=False, name=None))


def _cases(rows: pd.DataFrame, looks: dict) -> Cases:
    parts = rows.groupby(["mixer", "topology"])
    return [(looks[key], part) for key, part in parts]
