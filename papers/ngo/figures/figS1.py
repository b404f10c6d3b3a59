"""Consensus without learning if workers see states that are several rounds old: V for several
delays, and the workers' states for some of them.

*The paper:* consensus is reached if and only if the delay is at most π/(2λₙ). That is a theorem on
linear coupling in continuous time. *Look at* the linear curves on both sides of the limit, and at
p < 1, where the derivative of the coupling at zero is infinite and the limit need not hold: without
a delay, nonlinear coupling reaches consensus sooner; with one, it ends in a cycle.
"""

from __future__ import annotations

import math
from itertools import cycle

import pandas as pd

from ngo import plots
from ngo.analysis.curves import part
from ngo.analysis.dynamics import courses, delay_limit_in_rounds
from ngo.plots.consensus_panels import draw_index, draw_states, kind
from ngo.plots.declaration import figure
from ngo.plots.style import COLOURS, LINES


@figure(
    "figS1",
    section="Supplement",
    title="Figure S1: consensus with and without delay",
    reads="consensus_figS1",
    values={"consensus_share": (0, 1)},
)
def numbers(metrics: pd.DataFrame, consensus_share: float) -> pd.DataFrame:
    """The states, V, and the first rounds of consensus: ``dynamics.courses``."""
    return courses(metrics, consensus_share)


def note(numbers: pd.DataFrame, metrics: pd.DataFrame, consensus_share: float) -> list[str]:
    """What was simulated, the limit of linear coupling, and what the dots are."""
    facts = metrics.iloc[0]
    limit = delay_limit_in_rounds(metrics)
    bears = f"; linear coupling bears them up to $\\tau^*=\\pi/(2\\lambda_n\\gamma)={limit:.1f}$"
    return [
        f"{facts['workers']} workers, topology {facts['topology']}, rounds of length "
        f"$\\gamma={facts['gamma']:g}$. Delays are in rounds{bears if limit < math.inf else ''}.",
        f"Dots: the first $V$ at {consensus_share:.0%} of its initial value.",
    ]


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """V for each p (rows) and delay, and the workers' states for three of the delays.

    These are the least delay and the nearest on either side of the limit of linear coupling
    (``dynamics.delay_limit_in_rounds``), τ* in the legend. Dots mark the first rounds of
    consensus.
    """
    states = part(numbers, "states")
    delays = sorted(states["delay"].unique())
    limit = delay_limit_in_rounds(states)
    below = [delay for delay in delays if not delay > limit]
    above = [delay for delay in delays if delay > limit]
    shown = list(dict.fromkeys([delays[0], below[-1], *above[:1]]))
    groups = list(states.groupby("p"))
    figure, axes = plots.panels(2.0 * len(groups) + 0.3, len(groups), 1 + len(shown))
    marks = part(numbers, "rounds").set_index(["p", "delay"])["first_round"]
    for row, (p, rows) in zip(axes, groups, strict=True):
        for delay, colour, line in zip(delays, cycle(COLOURS), cycle(LINES)):
            own = rows[rows["delay"] == delay]
            share = f"={delay / limit:.2g}\\,\\tau^*" if delay > 0 and limit < math.inf else ""
            draw_index(row[0], own, marks[p, delay], f"$\\tau={delay}{share}$", colour, line)
            if delay in shown:
                axis = row[1 + shown.index(delay)]
                draw_states(axis, own, colour)
                label = "state $x_i$" if axis is row[1] else ""
                axis.set(title=f"$p={p:g}$, $\\tau={delay}$", ylabel=label)
        row[0].set(title=f"{kind(p)}, $p={p:g}$", ylabel="index $V$")
    plots.legend(figure, axes[0, 0])
    return figure
