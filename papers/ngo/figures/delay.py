"""Test accuracy and V at the end of training with linear gossip and NGO, when every message arrives
τ steps late, and NGO − gossip, paired by seed. At τ = 0 they are the methods of Table 1.

*The paper:* NGO boosts the performance under communication delays. *Look at* the difference of the
two, and at how V grows with τ.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ngo.analysis.comparisons import gains
from ngo.analysis.curves import points, scores, together
from ngo.analysis.seed_means import check_apart
from ngo.figures import plots
from ngo.figures.curve_panels import by_method, dots
from ngo.figures.declaration import figure
from verdicts.rows.evaluations import final

TASK = ["dataset", "partition", "topology"]
APART = [*TASK, "p", "delay"]
CASE = [*TASK, "delay", "method"]


@figure(
    "delay",
    section="3 Nonlinear gossiping",
    title="Delay: accuracy and V of gossip and NGO with late messages",
    apart=("dataset", "partition", "topology", "p", "delay"),
)
def numbers(metrics: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds at the end, by data set, partition, topology, coupling (``method``) and τ:
    accuracy, V, and the ``difference`` of accuracy, NGO − gossip.

    Raises a UserError for runs of one seed that it can't tell apart.
    """
    last = with_delay(final(scores(metrics)))
    check_apart(last, APART)
    pairs = gains(last, [*TASK, "delay"], "accuracy")
    return together(points(last, CASE, ["accuracy", "V"]), points(pairs, CASE, ["difference"]))


def with_delay(metrics: pd.DataFrame) -> pd.DataFrame:
    """``metrics`` with ``delay`` (τ, 0 for gossip and NGO) and the coupling as ``method``.

    A linear coupling (p = 1) is ``gossip``, another ``ngo``, late or not.
    """
    coupled = metrics["p"].notna()
    coupling = metrics["method"].mask(coupled, "ngo").mask(metrics["p"] == 1, "gossip")
    return metrics.assign(method=coupling, delay=metrics["delay"].fillna(0).astype(int))


def draw(numbers: pd.DataFrame) -> Figure:
    """A row for each data set, partition and topology: accuracy, V and NGO − gossip against τ."""
    tasks = list(numbers.groupby(TASK, sort=False))
    figure, axes = plots.panels(0.9 + 1.8 * len(tasks), len(tasks), 3)
    names = []
    for row, (task, own) in zip(axes, tasks, strict=True):
        for axis, value in zip(row, ("accuracy", "V", "difference"), strict=True):
            dots(axis, by_method(own[own["value"] == value]), "delay", value)
            axis.set_xticks(sorted(numbers["delay"].unique()))
        names += [", ".join(task), "synchronization", "paired by seed"]
    for axis in axes[-1]:
        axis.set_xlabel(r"delay $\tau$ in steps")
    plots.titles(axes.flat, *names)
    plots.legend(figure, axes[0, 0])
    return figure
