"""Runs with a consensus step after every H-th gradient step, by coupling."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ngo.analysis.curves import along, points, scores
from ngo.analysis.seed_means import check_apart
from verdicts.rows.equal_budgets import at_equal_bytes
from verdicts.rows.evaluations import final

CASE = ["dataset", "partition", "coupling", "local_steps"]
APART = ["dataset", "partition", "method", "p", "gamma", "local_steps"]
AVERAGING = "averaging"
"""Linear coupling with γ = 1; on a complete graph, every worker takes the mean of all models."""


@dataclass(frozen=True)
class Periods:
    """Accuracy and V by data set, partition, coupling and H (``local_steps``)."""

    course: pd.DataFrame
    """``curves.along`` of accuracy and V against the epoch."""
    ends: pd.DataFrame
    """``curves.points`` of accuracy and V at the end of training."""
    equal: pd.DataFrame
    """The same after as many bytes as the run that sent least in the same seed."""


def periods(metrics: pd.DataFrame) -> Periods:
    """The numbers of Figure 6. Raises a UserError for runs of one seed that it can't tell apart."""
    every = with_coupling(scores(metrics))
    last = final(every)
    check_apart(last, APART)
    values = ["accuracy", "V"]
    return Periods(
        along(every, CASE, "epoch", values),
        points(last, CASE, values),
        points(at_equal_bytes(every, values), CASE, values),
    )


def with_coupling(metrics: pd.DataFrame) -> pd.DataFrame:
    """``metrics`` with the column ``coupling``, whatever H is.

    ``averaging`` is linear with γ = 1, ``gossip`` linear with another γ, ``ngo`` nonlinear; every
    other method is named after itself. A run without H (``local_steps``) has H = 1.
    """
    coupled = metrics["method"].isin(["gossip", "ngo", "local_sgd"])
    linear = coupled & (metrics["p"] == 1)
    coupling = metrics["method"].mask(coupled, "ngo").mask(linear, "gossip")
    coupling = coupling.mask(linear & (metrics["gamma"] == 1), AVERAGING)
    steps = metrics["local_steps"].fillna(1).astype(int)
    return metrics.assign(coupling=coupling, local_steps=steps)
