"""Figures of consensus with no learning: sub- and superlinear coupling, and delay."""

from __future__ import annotations

from itertools import cycle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngo.dynamics import consensus_rounds
from ngo.graphs import TOPOLOGIES, metropolis_hastings
from ngo.plots import COLOURS, LINES, TEXT_WIDTH, legend


def consensus_figure(trajectories: pd.DataFrame, share: float) -> Figure:
    """Figure 3: each worker's state for each p, and V for all; dots mark V ≤ ``share`` of V(0).

    Of trajectories with a delay, the least is shown.
    """
    trajectories = trajectories[trajectories["delay"] == trajectories["delay"].min()]
    groups = list(trajectories.groupby("p"))
    figure, axes = plt.subplots(1, len(groups) + 1, figsize=(TEXT_WIDTH, 2.2))
    marks = consensus_rounds(trajectories, share).set_index("p")["first_round"]
    for (p, part), axis, colour, line in zip(groups, axes, cycle(COLOURS), cycle(LINES)):
        _states(axis, part, colour)
        axis.set(title=f"{_kind(p)}, $p={p:g}$", ylabel="state $x_i$" if axis is axes[0] else "")
        axis.sharey(axes[0])
        _index(axes[-1], part, marks[p], f"$p={p:g}$", colour, line)
    axes[-1].set(title="synchronization", ylabel="index $V$")
    axes[-1].legend()
    return figure


def delay_figure(trajectories: pd.DataFrame, share: float) -> Figure:
    """Figure S1: V for each p (rows) and delay, and the workers' states for three of the delays.

    These are the least one, and those on either side of the limit π/(2λ_n) of linear coupling (see
    :func:`limit_in_rounds`), τ* in the legend. Dots mark V ≤ ``share`` of V(0).
    """
    delays = sorted(trajectories["delay"].unique())
    limit = limit_in_rounds(trajectories)
    below = [delay for delay in delays if not delay > limit]
    above = [delay for delay in delays if delay > limit]
    shown = list(dict.fromkeys([delays[0], below[-1], *above[:1]]))
    groups = list(trajectories.groupby("p"))
    figure, axes = plt.subplots(
        len(groups), 1 + len(shown), figsize=(TEXT_WIDTH, 2.0 * len(groups) + 0.3), squeeze=False
    )
    marks = consensus_rounds(trajectories, share).set_index(["p", "delay"])["first_round"]
    for row, (p, part) in zip(axes, groups, strict=True):
        for delay, colour, line in zip(delays, cycle(COLOURS), cycle(LINES)):
            own = part[part["delay"] == delay]
            share_of_limit = (
                f"={delay / limit:.2g}\\,\\tau^*" if delay > 0 and limit < np.inf else ""
            )
            label = f"$\\tau={delay}{share_of_limit}$"
            _index(row[0], own, marks[p, delay], label, colour, line)
            if delay in shown:
                axis = row[1 + shown.index(delay)]
                _states(axis, own, colour)
                label = "state $x_i$" if axis is row[1] else ""
                axis.set(title=f"$p={p:g}$, $\\tau={delay}$", ylabel=label)
        row[0].set(title=f"{_kind(p)}, $p={p:g}$", ylabel="index $V$")
    legend(figure, axes[0, 0])
    return figure


def limit_in_rounds(trajectories: pd.DataFrame) -> float:
    """The delay theorem's limit on the trajectories' graph, in rounds: π/(2λ_n(L(W))) / γ.

    Infinity for a random topology, whose graph is another in each round.
    """
    from ngo.theory import delay_limit

    first = trajectories.iloc[0]
    entry = TOPOLOGIES[first["topology"]]
    if entry.random:
        return np.inf
    n = int(first["workers"])
    return delay_limit(metropolis_hastings(n, entry.edges(n))) / first["gamma"]


def _states(axis: Axes, trajectory: pd.DataFrame, colour: str) -> None:
    for _, worker in trajectory.groupby("worker"):
        axis.plot(worker["round"], worker["x"], color=colour, linewidth=0.8)
    axis.set(xlabel="round")


def _index(
    axis: Axes, trajectory: pd.DataFrame, mark: float, label: str, colour: str, line: str
) -> None:
    V = trajectory.drop_duplicates("round").set_index("round")["V"]
    axis.plot(V.index, V, line, color=colour, linewidth=1.2, label=label)
    if pd.notna(mark):
        axis.plot(mark, V[mark], "o", color=colour, markersize=4)
    axis.set(xlabel="round", yscale="log")


def _kind(p: float) -> str:
    return "linear" if p == 1 else "sublinear" if p < 1 else "superlinear"
