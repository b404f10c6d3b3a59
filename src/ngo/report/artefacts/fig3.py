"""Figure 3: consensus with sublinear, linear and superlinear coupling."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

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
    plots.caption(
        figure,
        f"{facts['workers']} workers, topology {facts['topology']}, rounds of length "
        f"$\\gamma={facts['gamma']:g}$. Dots: $V$ at {consensus_share:.0%} of its initial value.",
        f"Tier {tier}; no data set.",
    )
    picture = plots.save_figure(figure, f"{out}/figures/fig3", state_rows(shown))
    return Output(picture, (consensus_rounds(shown, consensus_share),))


def draw(trajectories: pd.DataFrame, share: float) -> Figure:
    """Each worker's state for each p, and V for all; dots mark V ≤ ``share`` · V(0).

    Of trajectories with several delays, those with the least are shown.
    """
    trajectories = trajectories[trajectories["delay"] == trajectories["delay"].min()]
    groups = list(trajectories.groupby("p"))
    figure = plots.new_figure(2.2)
    axes = figure.subplots(1, len(groups) + 1)
    marks = consensus_rounds(trajectories, share).set_index("p")["first_round"]
    for (p, part), axis, colour, line in zip(groups, axes, cycle(COLOURS), cycle(LINES)):
        draw_states(axis, part, colour)
        axis.set(title=f"{kind(p)}, $p={p:g}$", ylabel="state $x_i$" if axis is axes[0] else "")
        axis.sharey(axes[0])
        draw_index(axes[-1], part, marks[p], f"$p={p:g}$", colour, line)
    axes[-1].set(title="synchronization", ylabel="index $V$")
    axes[-1].legend()
    return figure
