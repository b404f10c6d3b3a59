"""Test accuracy and V during training on random graphs that are redrawn at every step, for linear
gossip, NGO and centralized learning; for several edge probabilities u the accuracy at the end and
the mean of V over training, and both after equally many bytes sent. The fixed ring is next to the
random graph with as many edges.

*The paper* has the curves (a) and (d); the other panels show the sentences of its text: after a
burn-in phase, NGO with u = 0.4 is on a par with centralized SGD; random graphs do better than a
ring with a similar number of edges (u = 0.2 for ten workers). *Look at* NGO and centralized
learning at u = 0.4, and at the ring and u = 0.2.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle

import pandas as pd

from ngo.analysis.curves import along, part, points, scores, together, with_mean_V
from ngo.figures import captions, plots
from ngo.figures.curve_panels import Cases, by_method, dots, lines
from ngo.figures.declaration import figure
from verdicts.rows.evaluations import at_equal_bytes, final

KEYS = ["method", "topology", "u"]
VALUES = ["accuracy", "V"]
OVERALL = ["accuracy", "V_mean"]

SHOWN_U = 0.4
"""The edge probability of the curves, as in the paper."""

FIXED_MARKERS = ("P", "X")


@figure(
    "fig5",
    section="5.3 Random graph",
    title="Figure 5: accuracy and V on random graphs and on the ring",
    apart=("method", "topology", "u"),
    stands_for="cifar10",
)
def numbers(metrics: pd.DataFrame) -> pd.DataFrame:
    """The means over seeds, in three parts, by method, topology and edge probability u.

    ``course``: accuracy and V along training at the u nearest to ``SHOWN_U``. ``ends``: the
    accuracy at the end, the mean of V over training, the models sent in a step, and the edges that
    carried them. ``equal``: the accuracy, and the mean of V until then, after as many bytes as the
    run that sent least in the same seed. The column ``share`` is u, and
    on a fixed graph its edges as a share of all n(n − 1)/2; ``budget`` is the mean number of models
    sent in a step, by u.
    """
    every = with_mean_V(scores(metrics))
    nearest = min(every["u"].dropna().unique(), key=lambda u: abs(u - SHOWN_U))
    random = every["u"].notna() | every["topology"].isna()
    course = every[random & (every["u"].isna() | (every["u"] == nearest))]
    last = final(every)
    sent = last["messages"] / last["step"]
    last = last.assign(messages_per_step=sent, edges=sent / 2)  # an edge has a model each way
    return together(
        course=along(course, KEYS, "epoch", VALUES),
        ends=_with_share(points(last, KEYS, [*OVERALL, "messages_per_step", "edges"]), last),
        equal=_with_share(points(at_equal_bytes(every, OVERALL), KEYS, OVERALL), last),
    )


def _with_share(table: pd.DataFrame, last: pd.DataFrame) -> pd.DataFrame:
    """``table`` with ``share`` and ``budget``, by the ends of runs ``last``."""
    n = last["workers"].astype(float)
    shares = (2 * last["edges"] / (n * (n - 1))).where(last["topology"].notna())
    by_topology = shares[last["u"].isna()].groupby(last["topology"]).mean()
    return table.assign(
        share=table["u"].fillna(table["topology"].map(by_topology)),
        budget=table["u"].map(last.groupby("u")["messages_per_step"].mean()),
    )


def note(numbers: pd.DataFrame, metrics: pd.DataFrame) -> list[str]:
    """How to read the drawing."""
    return [
        "Each step draws new random graphs.",
        "At equal bytes: after as many bytes as the run that sent least in the same seed; between "
        "evaluations, values are linear in the bytes sent.",
        captions.ONE_MODEL,
        captions.schedule(metrics),
        *captions.seeds(metrics),
    ]


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """Accuracy and V along training at one edge probability; accuracy at the end, mean V, and both
    at equal bytes, for all edge probabilities and the fixed graphs.
    """
    course, ends, equal = (part(numbers, name) for name in ("course", "ends", "equal"))
    shown = course["u"].max()
    figure, axes = plots.panels(4.4, 2, 3, width_ratios=[1.2, 1, 1])
    for row, value, overall in zip(axes, VALUES, OVERALL, strict=True):
        lines(row[0], by_method(course), "epoch", value)
        for axis, table in ((row[1], ends), (row[2], equal)):
            _by_edges(axis, table, overall)
        plots.share_limits(*row[1:])
    axes[1, 0].set_xlabel("epoch")
    for axis in axes[1, 1:]:
        axis.set_xlabel("edge probability $u$\n(models sent in a step)")
    names = [f"{what}, $u = {shown:g}$" for what in ("accuracy", "synchronization")]
    equally = "at equal bytes"
    plots.titles(axes.flat, names[0], "at the end", equally, names[1], "over training", equally)
    plots.legend(figure, axes[0, 0], axes[0, 1])
    return figure


def _by_edges(axis: plots.Axes, table: pd.DataFrame, value: str) -> None:
    """``value`` against u; a fixed graph stands at its share of all edges."""
    random = table[table["u"].notna()]
    budget = random.groupby("u")["budget"].first()
    plots.value_ticks(axis, budget.index, base=2)
    levels = by_method(table[table["topology"].isna()])
    dots(axis, by_method(random) + _fixed(table), "share", value, levels)
    axis.set_xticklabels([f"{u:g}\n({models:.0f})" for u, models in budget.items()])


def _fixed(table: pd.DataFrame) -> Cases:
    """The rows on each fixed graph, by method; markers without a line."""
    rows = table[table["u"].isna() & table["topology"].notna()]
    return [
        (replace(look, label=f"{look.label}, {topology}", line="none", marker=marker), own)
        for topology, of_graph in rows.groupby("topology", sort=False)
        for marker, (look, own) in zip(cycle(FIXED_MARKERS), by_method(of_graph))
    ]
