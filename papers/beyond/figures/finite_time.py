"""V by rounds without learning, for each way to mix at its own best p and γ: linear gossip, NGO,
its capped and its implicit form, Chebyshev's acceleration, and graphs that average in finitely many
rounds. Top: undisturbed. Below: V that settles under drift (as from heterogeneous data), noise,
delay, failing links, and compression with error feedback.

*The question:* NGO agrees in finite time in continuous time, and in rounds of fixed length it does
not. Do a cap or an implicit step keep the promise, and where do they beat linear gossip at its own
best γ, its acceleration, and graphs that average exactly? *Look at* the last column of the table:
the ratio of V to linear gossip's on the same graph.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import cycle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import torch

from ngo.analysis.curves import part, points, together
from ngo.analysis.mixers import MIXER, SITUATION, TUNED, best_rows, ends, with_mixers
from ngo.common.options import DECLARED
from ngo.figures import plots
from ngo.figures.curve_panels import Cases, dots, lines
from ngo.figures.declaration import Tables, figure
from ngo.figures.style import LINES, kth_style
from ngo.figures.tables import bracketed, dashed
from ngo.gossip.bounds import finite_time_bound
from ngo.gossip.consensus import Chebyshev
from ngo.gossip.topology import TOPOLOGIES, Mixing
from verdicts.row import ABSENT

DRAWN, BEST = "finite_time", "finite_time_best"

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
ENDS = ["mean", "low", "high"]

NOTE = (
    "No learning: all workers start from Gaussian states. Each way to mix is at the p and γ that "
    "are best on half of the seeds; shown are the other seeds. Top: undisturbed, best by V after "
    "{early} rounds. Below: V under one disturbance, over that of linear gossip on the same graph; "
    "under drift and noise, which leave a floor, the mean over the last quarter of {rounds} "
    "rounds, otherwise V after {early} rounds. Drift and noise are standard deviations over "
    "workers; at the start, that of all states is 1. {about}"
)

CAPTION = (
    "V of each way to mix at its own best p and γ, geometric means [95 % interval], and its ratio "
    "to linear gossip's on the same graph, paired by seed: after {early} rounds; under drift and "
    "noise, which leave a floor, the mean over the last quarter of {rounds} rounds. p and γ are "
    "chosen on half of the seeds, and V is that of the others. V at most: the largest V that "
    "undisturbed linear or accelerated rounds can leave. T*: the rounds after which NGO would "
    "agree in continuous time, by Theorem 3.1 with the factor that its proof loses. {about}"
)


@figure(
    "finite_time",
    section="Any method with any coupling",
    title="Consensus in finite time, kept in discrete steps",
    reads={"ring": "rounds_ring", "matchings": "rounds_matchings", "exact": "rounds_exact"},
    tables=("finite_time_best",),
)
def numbers(ring: pd.DataFrame, matchings: pd.DataFrame, exact: pd.DataFrame) -> Tables:
    """V by rounds, undisturbed (``course``), and V under each disturbance (``settled``); and the
    comparison of all ways to mix at their best (``compared``).

    Measured (``measures.rounds``) on the ``ring``, over ``matchings``, and over graphs that average
    in finitely many rounds.
    """
    table = pd.concat([ring, matchings, exact], ignore_index=True)
    best = compared(table)
    settled = best[best["disturbance"] != "none"]
    return {DRAWN: together(course=_course(table), settled=settled), BEST: best}


def _course(table: pd.DataFrame) -> pd.DataFrame:
    """V of each mixer at its best by round, undisturbed, and the models that a worker has sent."""
    clean = with_mixers(table[table["disturbance"] == "none"])
    clean = best_rows(clean, "V_early")
    by = ["mixer", "topology", "p", "gamma", "round"]
    rows = clean.assign(diverged=~np.isfinite(clean["V"]), run=clean["seed"])
    sent = clean.groupby(by)["messages"].mean() / clean["workers"].iloc[0]
    return points(rows, by, ["V"]).merge(sent.rename("messages").reset_index(), on=by)


def compared(table: pd.DataFrame) -> pd.DataFrame:
    """``comparison`` by ``V_early``, by ``V_settled`` under disturbances that leave a floor.

    Undisturbed rounds have the bounds of theory, too (``with_theory``).
    """
    clean, floor = table["disturbance"] == "none", table["disturbance"].isin(FLOORS)
    start = table[clean & (table["round"] == 0)]
    n, early = int(table["workers"].iloc[0]), int(table["early"].iloc[0])
    parts = [with_theory(comparison(table[clean], "V_early"), n, early, start["V"].mean())]
    for rows, value in ((~clean & ~floor, "V_early"), (floor, "V_settled")):
        if rows.any():
            parts.append(comparison(table[rows], value))
    return pd.concat(parts, ignore_index=True)


def comparison(table: pd.DataFrame, value: str = "V_settled") -> pd.DataFrame:
    """Each mixer at its best in each situation, compared with linear gossip at its best.

    Columns: ``MIXER``, ``TUNED``; mean, low, high of ``value`` (geometric, ``curves.points``); and
    the same of its ratio to linear gossip's on the same topology, paired by seed.
    """
    chosen = ends(best_rows(with_mixers(table), value))
    chosen = chosen.assign(
        V=chosen[value], diverged=~np.isfinite(chosen[value]), run=chosen["seed"]
    )
    linear = chosen.loc[chosen["mixer"] == "linear", [*SITUATION, "seed", "V"]]
    linear = linear.rename(columns={"V": "linear"})
    chosen = chosen.merge(linear, on=[*SITUATION, "seed"], how="left")
    by = [*MIXER, *TUNED]
    found = points(chosen.assign(ratio=chosen["V"] / chosen["linear"]), by, ["V", "ratio"])
    values = found[found["value"] == "V"].drop(columns="value")
    ratios = found[found["value"] == "ratio"].set_index(by)[ENDS].add_prefix("ratio_")
    return values.merge(ratios.reset_index(), on=by)


def with_theory(found: pd.DataFrame, n: int, t: int, V0: float) -> pd.DataFrame:
    """Rows of ``comparison`` for ``n`` workers, with ``V_bound`` and ``T_star``.

    ``V_bound``: the largest V that ``t`` undisturbed rounds can leave of V(0) = ``V0``, of linear
    and of accelerated gossip. ``T_star``: the rounds after which Theorem 3.1, with the factor that
    its proof loses (``finite_time_bound``), has NGO agree in continuous time. NaN where theory has
    none: for other mixers, and on random graphs.
    """
    rows = found.to_dict("records")
    return found.assign(
        V_bound=[V0 * _most(row, n, t) for row in rows], T_star=[_time(row, n, V0) for row in rows]
    )


def _most(row: dict, n: int, t: int) -> float:
    """The largest V(t)/V(0): ‖P − 11ᵀ/n‖², where P is what the rounds make of the identity."""
    random = "generator" in TOPOLOGIES[row["topology"]].arguments
    if row["mixer"] not in ("linear", "chebyshev") or random:
        return math.nan
    mixing, gamma = _mixing(row["topology"], n), row["gamma"]
    accelerated = Chebyshev(mixing.at(0).dense(), gamma)
    P = torch.eye(n).double()
    for k in range(t):
        W = mixing.at(k).dense()
        P = accelerated(P, W, P) if row["mixer"] == "chebyshev" else P + gamma * (W @ P - P)
    return float(torch.linalg.matrix_norm(P - 1 / n, 2)) ** 2


def _time(row: dict, n: int, V0: float) -> float:
    if row["mixer"] != "NGO" or TOPOLOGIES[row["topology"]].varies:
        return math.nan
    return finite_time_bound(V0, _mixing(row["topology"], n).at(0), row["p"], row["gamma"])


def _mixing(topology: str, n: int) -> Mixing:
    """The matrices of a topology whose settings have their defaults."""
    fields = SimpleNamespace(**{name: each.default for name, each in DECLARED.items()})
    return Mixing(topology, n, fields)


def _facts(**tables: pd.DataFrame) -> dict[str, object]:
    """What the sentences name: rounds, workers, seeds."""
    table = pd.concat(tables.values(), ignore_index=True)
    about = f"{table['workers'].iloc[0]} workers; {table['seed'].nunique()} seeds."
    return {"early": table["early"].iloc[0], "rounds": table["round"].max(), "about": about}


def note(numbers: Tables, **tables: pd.DataFrame) -> str:
    """How to read the drawing."""
    return NOTE.format(**_facts(**tables))


def caption(numbers: Tables, **tables: pd.DataFrame) -> str:
    """What the columns are."""
    return CAPTION.format(**_facts(**tables))


def draw(numbers: Tables) -> plots.Figure:
    """V by rounds and by messages, undisturbed; V that settles under each disturbance."""
    course, settled = part(numbers[DRAWN], "course"), part(numbers[DRAWN], "settled")
    kinds = [kind for kind in KINDS if kind in set(settled["disturbance"])]
    graphs = sorted({*course["topology"], *settled["topology"]}, key=lambda g: (g != "ring", g))
    figure = plots.new_figure(2.2 * (1 + -(-len(kinds) // 3)) + 0.8)
    grid = figure.add_gridspec(1 + -(-len(kinds) // 3), 6)
    axes = [figure.add_subplot(grid[0, k : k + 3]) for k in (0, 3)]
    labels = {"round": "rounds", "messages": "models sent by a worker"}
    for axis, (x, label) in zip(axes, labels.items(), strict=True):
        lines(axis, _cases(course, graphs), x, "V")
        axis.set_xlabel(label)
    for k, kind in enumerate(kinds):
        column = 2 * (k % 3)
        axes.append(figure.add_subplot(grid[1 + k // 3, column : column + 2]))
        _draw_ratios(axes[-1], settled[settled["disturbance"] == kind], graphs)
        axes[-1].set_xlabel(KINDS[kind][1])
    names = [KINDS[kind][0] for kind in kinds]
    plots.titles(axes, "undisturbed", "undisturbed, by messages", *names)
    plots.legend(figure, axes[0])
    return figure


def show(numbers: Tables) -> pd.DataFrame:
    """The table as it is printed."""
    found = numbers[BEST]
    strength = found["strength"].map("{:g}".format).where(found["disturbance"] != "none", "")
    return pd.DataFrame(
        {
            "Disturbance": (found["disturbance"] + " " + strength).str.strip(),
            "Graph": found["topology"],
            "Mixing": found["mixer"],
            "Best p": found["p"].map("{:g}".format),
            "Best γ": found["gamma"].map("{:g}".format),
            "V": _with_interval(found, ""),
            "V at most": dashed(found["V_bound"], "{:.2e}".format),
            "T*": dashed(found["T_star"], "{:.2e}".format),
            "V / linear": _with_interval(found, "ratio_"),
        }
    )


def _with_interval(found: pd.DataFrame, prefix: str) -> list[str]:
    rows = found[[f"{prefix}{name}" for name in ENDS]].to_numpy(float)
    return [
        f"{mean:.2e}{bracketed(low, high, '{:.1e}'.format)}" if np.isfinite(mean) else ABSENT
        for mean, low, high in rows
    ]


def _draw_ratios(axis: plots.Axes, settled: pd.DataFrame, graphs: list[str]) -> None:
    """V over linear gossip's, against the strength of a disturbance."""
    rows = settled.drop(columns=ENDS).rename(columns={f"ratio_{end}": end for end in ENDS})
    rows = rows[rows["mixer"] != "linear"].assign(value="ratio")
    axis.axhline(1, color="0.6", lw=1)
    plots.value_ticks(axis, rows["strength"].unique())
    dots(axis, _cases(rows, graphs), "strength", "ratio")
    bottom, top = axis.get_ylim()
    axis.set_ylim(min(bottom, 0.9), max(top, 1.1))


def _cases(rows: pd.DataFrame, graphs: list[str]) -> Cases:
    """The rows of each mixer on each graph: a colour and marker for one, a line for the other."""
    found = []
    parts = dict(list(rows.groupby(["mixer", "topology"])))
    for k, mixer in enumerate(MIXERS):
        for line, graph in zip(cycle(LINES), graphs):
            look = replace(kth_style(k, f"{mixer}, {graph.replace('_', ' ')}"), line=line)
            found += [(look, parts[mixer, graph])] if (mixer, graph) in parts else []
    return found
