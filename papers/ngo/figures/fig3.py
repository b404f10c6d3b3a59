"""Ten workers start from the same Gaussian initial state and only gossip: their states with
sublinear (p = 0.5), linear (p = 1) and superlinear (p = 2) coupling, and the synchronization
index V.

*The paper:* sublinear coupling reaches consensus in finite time, linear coupling exponentially, and
superlinear coupling last. *Look at* the order in which V falls, and at the end of the sublinear
curve: consensus in finite time is a property of continuous time, and with discrete rounds V stays
at a small floor.
"""

from __future__ import annotations

from itertools import cycle

import pandas as pd

from ngo import plots
from ngo.analysis.curves import part
from ngo.analysis.dynamics import courses
from ngo.plots.consensus_panels import draw_index, draw_states, kind
from ngo.plots.declaration import figure
from ngo.plots.style import COLOURS, LINES


@figure(
    "fig3",
    section="3 Nonlinear gossiping",
    title="Figure 3: consensus with sublinear, linear and superlinear coupling",
    reads="consensus_fig3",
    values={"consensus_share": (0, 1)},
)
def numbers(metrics: pd.DataFrame, consensus_share: float) -> pd.DataFrame:
    """The states, V, and the first rounds of consensus: ``dynamics.courses``."""
    return courses(metrics, consensus_share)


def note(numbers: pd.DataFrame, metrics: pd.DataFrame, consensus_share: float) -> str:
    """What was simulated, and what the dots are."""
    facts = metrics.iloc[0]
    return (
        f"{facts['workers']} workers, topology {facts['topology']}, rounds of length "
        f"$\\gamma={facts['gamma']:g}$. Dots: $V$ at {consensus_share:.0%} of its initial value."
    )


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """Each worker's state for each p, and V for all, with dots at the first rounds of consensus.

    Of trajectories with several delays, those with the least are shown.
    """
    numbers = numbers[numbers["delay"] == numbers["delay"].min()]
    groups = list(part(numbers, "states").groupby("p"))
    marks = part(numbers, "rounds").set_index("p")["first_round"]
    figure, (axes,) = plots.panels(2.2, 1, len(groups) + 1)
    for (p, own), axis, colour, line in zip(groups, axes, cycle(COLOURS), cycle(LINES)):
        draw_states(axis, own, colour)
        axis.set(title=f"{kind(p)}, $p={p:g}$", ylabel="state $x_i$" if axis is axes[0] else "")
        axis.sharey(axes[0])
        draw_index(axes[-1], own, marks[p], f"$p={p:g}$", colour, line)
    axes[-1].set(title="synchronization", ylabel="index $V$")
    axes[-1].legend()
    return figure
