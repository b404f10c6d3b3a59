"""Runs on random graphs by their edge probability u, beside those on a fixed graph."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ngo.analysis.curves import along, points, scores
from verdicts.rows.equal_budgets import at_equal_bytes
from verdicts.rows.evaluations import final

KEYS = ["method", "topology", "u"]


@dataclass(frozen=True)
class EdgeProbabilities:
    """Accuracy and V along training at one u; at its end, and at equal bytes, for all."""

    probabilities: list[float]
    shown: float
    """The u of ``course``."""
    course: pd.DataFrame
    """``curves.along`` of accuracy and V against the epoch."""
    ends: pd.DataFrame
    """``curves.points`` of accuracy, V, messages_per_step and edges, by ``KEYS``.

    The column ``share`` is u, and on a fixed graph its edges as a share of all n(n − 1)/2.
    """
    equal: pd.DataFrame
    """The same of accuracy and V, after as many bytes as the run that sent least (by seed)."""
    budget: pd.Series
    """The mean number of models sent in a step, by u."""


def edge_probabilities(metrics: pd.DataFrame, u: float) -> EdgeProbabilities:
    """The numbers of Figure 5; the curves are those at the probability nearest to ``u``.

    Raises a UserError for runs of one seed that it can't tell apart.
    """
    every = scores(metrics)
    probabilities = sorted(every["u"].dropna().unique())
    shown = min(probabilities, key=lambda other: abs(other - u))
    last = with_budget(final(every))
    fixed = every["u"].isna() & every["topology"].notna()
    chosen = every[~fixed & (every["u"].isna() | (every["u"] == shown))]
    course = along(chosen, KEYS, "epoch", ["accuracy", "V"])
    equal = at_equal_bytes(every, ["accuracy", "V"])
    budget = last.groupby("u")["messages_per_step"].mean()
    return EdgeProbabilities(
        probabilities,
        shown,
        course,
        _with_share(points(last, KEYS, ["accuracy", "V", "messages_per_step", "edges"]), last),
        _with_share(points(equal, KEYS, ["accuracy", "V"]), last),
        budget,
    )


def with_budget(runs: pd.DataFrame) -> pd.DataFrame:
    """``runs`` with the models that they sent in a step, and the edges that carried them.

    Each row is one run. An edge carries a model each way.
    """
    sent = runs["messages"] / runs["step"]
    return runs.assign(messages_per_step=sent, edges=sent / 2)


def _with_share(table: pd.DataFrame, last: pd.DataFrame) -> pd.DataFrame:
    """``table`` with ``share``: u, or the share of all edges that a fixed graph has."""
    n = last["workers"].astype(float)
    shares = (2 * last["edges"] / (n * (n - 1))).where(last["topology"].notna())
    by_topology = shares[last["u"].isna()].groupby(last["topology"]).mean()
    return table.assign(share=table["u"].fillna(table["topology"].map(by_topology)))
