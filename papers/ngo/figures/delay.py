"""Test accuracy and V at the end of training with linear gossip and NGO, when every message arrives
τ steps late, and NGO − gossip, paired by seed. Upper row: at the same γ; at τ = 0 they are the
methods of Table 1. Lower row: at each τ, each method at its own best γ, and NGO at its best p < 1.

*The paper:* NGO boosts the performance under communication delays. *Look at* the difference of the
two in both rows: at the same γ, NGO pulls harder, and bears less delay.
"""

from __future__ import annotations

import pandas as pd

from ngo import plots
from ngo.analysis.comparisons import gains
from ngo.analysis.curves import part, points, scores, together
from ngo.analysis.seed_means import check_apart
from ngo.analysis.tuning import TUNED, best_settings, tuning_grid
from ngo.plots import captions
from ngo.plots.curve_panels import by_method, dots
from ngo.plots.declaration import figure
from ngo.plots.style import METHOD_STYLES
from verdicts.rows.evaluations import final

TASK = ["dataset", "partition", "topology"]
APART = [*TASK, "p", "delay", "gamma"]
CASE = [*TASK, "delay", "method"]


@figure(
    "delay",
    section="3 Nonlinear gossiping",
    title="Delay: accuracy and V of gossip and NGO with late messages",
    reads={"metrics": "delay", "tuned": "delay_tuned"},
    apart=("dataset", "partition", "topology", "p", "delay", "gamma"),
)
def numbers(metrics: pd.DataFrame, tuned: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds at the end, by data set, partition, topology, coupling (``method``) and τ:
    accuracy, V, and the ``difference`` of accuracy, NGO − gossip.

    Parts: ``same``, of ``metrics``, at the same γ; ``best``, of ``tuned``, at the best p and γ of
    each method and τ; ``chosen``, these p and γ (``tuning.best_settings``). Raises a UserError for
    runs of one seed that it can't tell apart.
    """
    same = with_delay(metrics)
    check_apart(final(same), APART)
    late = with_delay(tuned)
    by_delay = late.groupby("delay")
    parts = [best_settings(tuning_grid(rows)).assign(delay=delay) for delay, rows in by_delay]
    chosen = pd.concat(parts, ignore_index=True)[[*CASE, *TUNED, "edge", "p_edge"]]
    best = late.merge(chosen[[*CASE, *TUNED]], on=[*CASE, *TUNED])
    return together(same=_ends(same), best=_ends(best), chosen=chosen)


def _ends(metrics: pd.DataFrame) -> pd.DataFrame:
    last = final(scores(metrics))
    pairs = points(gains(last, [*TASK, "delay"], "accuracy"), CASE, ["difference"])
    return pd.concat([points(last, CASE, ["accuracy", "V"]), pairs], ignore_index=True)


def with_delay(metrics: pd.DataFrame) -> pd.DataFrame:
    """``metrics`` with ``delay`` (τ, 0 for gossip and NGO) and the coupling as ``method``.

    A linear coupling (p = 1) is ``gossip``, another ``ngo``, late or not.
    """
    coupled = metrics["p"].notna()
    coupling = metrics["method"].mask(coupled, "ngo").mask(metrics["p"] == 1, "gossip")
    return metrics.assign(method=coupling, delay=metrics["delay"].fillna(0).astype(int))


def note(numbers: pd.DataFrame, metrics: pd.DataFrame, tuned: pd.DataFrame) -> list[str]:
    """The chosen values, and which of them are the last that were tried."""
    chosen = part(numbers, "chosen").sort_values(["delay", "method"])
    values = "; ".join(
        f"τ = {row.delay:g}, {METHOD_STYLES[row.method].label}: "
        f"{value_and_edge('p', row.p, row.p_edge)}, {value_and_edge('γ', row.gamma, row.edge)}"
        for row in chosen.itertuples()
    )
    return [
        f"Own best, by held-out accuracy: {values}. Smallest and largest: of those tried, so that "
        "a better value may lie beyond.",
        *captions.about(pd.concat([metrics, tuned], ignore_index=True)),
    ]


def value_and_edge(name: str, value: float, edge: str | None) -> str:
    """``γ = 0.2 (smallest)``: a chosen value, and the edge of the grid at which it is."""
    return f"{name} = {value:g}" + (f" ({edge})" if pd.notna(edge) else "")


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """Two rows for each data set, partition and topology: accuracy, V and NGO − gossip against τ,
    at the same γ and at each method's own best values.
    """
    rows = [
        (f"{', '.join(task)}, {words}", own)
        for name, words in (("same", r"same $\gamma$"), ("best", "own best"))
        for task, own in part(numbers, name).groupby(TASK, sort=False)
    ]
    figure, axes = plots.panels(0.9 + 1.8 * len(rows), len(rows), 3)
    names = []
    for row, (title, own) in zip(axes, rows, strict=True):
        for axis, value in zip(row, ("accuracy", "V", "difference"), strict=True):
            dots(axis, by_method(own[own["value"] == value]), "delay", value)
            axis.set_xticks(sorted(own["delay"].unique()))
        names += [title, "synchronization", "paired by seed"]
    for axis in axes[-1]:
        axis.set_xlabel(r"delay $\tau$ in steps")
    plots.titles(axes.flat, *names)
    plots.legend(figure, axes[0, 0])
    return figure
