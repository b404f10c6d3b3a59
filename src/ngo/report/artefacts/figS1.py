"""Figure S1: consensus with and without delay."""

from __future__ import annotations

import math
from itertools import cycle
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ngo.analysis.delay_limits import delay_limit_in_rounds
from ngo.analysis.dynamics import consensus_rounds, state_rows
from ngo.figures import plots
from ngo.figures.consensus_panels import draw_index, draw_states, kind
from ngo.figures.output import Output
from ngo.figures.style import COLOURS, LINES, house_style


@house_style()
def make(metrics: str | Path, consensus_share: float, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from trajectories; consensus is V ≤ ``consensus_share`` · V(0)."""
    shown = pd.read_parquet(metrics).assign(tier=tier)
    figure = draw(shown, consensus_share)
    facts = shown.iloc[0]
    limit = delay_limit_in_rounds(shown)
    bears = f"; linear coupling bears them up to $\\tau^*=\\pi/(2\\lambda_n\\gamma)={limit:.1f}$"
    plots.caption(
        figure,
        f"{facts['workers']} workers, topology {facts['topology']}, rounds of length "
        f"$\\gamma={facts['gamma']:g}$. Delays are in rounds{bears if limit < math.inf else ''}.",
        f"Dots: the first $V$ at {consensus_share:.0%} of its initial value.",
        f"Tier {tier}; no data set.",
    )
    picture = plots.save_figure(figure, f"{out}/figures/figS1", state_rows(shown))
    return Output(picture, (consensus_rounds(shown, consensus_share),))


def draw(trajectories: pd.DataFrame, share: float) -> Figure:
    """V for each p (rows) and delay, and the workers' states for three of the delays.

    These are the least delay and the nearest on either side of the limit of linear coupling
    (``delay_limits.delay_limit_in_rounds``), τ* in the legend. Dots mark V ≤ ``share`` · V(0).
    """
    delays = sorted(trajectories["delay"].unique())
    limit = delay_limit_in_rounds(trajectories)
    below = [delay for delay in delays if not delay > limit]
    above = [delay for delay in delays if delay > limit]
    shown = list(dict.fromkeys([delays[0], below[-1], *above[:1]]))
    groups = list(trajectories.groupby("p"))
    figure = plots.new_figure(2.0 * len(groups) + 0.3)
    axes = figure.subplots(len(groups), 1 + len(shown), squeeze=False)
    marks = consensus_rounds(trajectories, share).set_index(["p", "delay"])["first_round"]
    for row, (p, part) in zip(axes, groups, strict=True):
        for delay, colour, line in zip(delays, cycle(COLOURS), cycle(LINES)):
            own = part[part["delay"] == delay]
            share_of_limit = (
                f"={delay / limit:.2g}\\,\\tau^*" if delay > 0 and limit < math.inf else ""
            )
            label = f"$\\tau={delay}{share_of_limit}$"
            draw_index(row[0], own, marks[p, delay], label, colour, line)
            if delay in shown:
                axis = row[1 + shown.index(delay)]
                draw_states(axis, own, colour)
                label = "state $x_i$" if axis is row[1] else ""
                axis.set(title=f"$p={p:g}$, $\\tau={delay}$", ylabel=label)
        row[0].set(title=f"{kind(p)}, $p={p:g}$", ylabel="index $V$")
    plots.legend(figure, axes[0, 0])
    return figure
