"""Runs on random graphs by their edge probability u."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ngo.analysis.curves import along, points, scores
from ngo.analysis.evaluations import final


@dataclass(frozen=True)
class EdgeProbabilities:
    """Accuracy and V along training at one u, and at its end for all."""

    probabilities: list[float]
    shown: float
    """The u of ``course``."""
    course: pd.DataFrame
    """``curves.along`` of accuracy and V against the epoch."""
    ends: pd.DataFrame
    """``curves.points`` of accuracy, V and messages_per_step, by protocol and u."""
    budget: pd.Series
    """The mean number of models sent in a step, by u."""


def edge_probabilities(metrics: pd.DataFrame, u: float) -> EdgeProbabilities:
    """The numbers of Figure 5; the curves are those at the probability nearest to ``u``."""
    every = scores(metrics)
    probabilities = sorted(every["u"].dropna().unique())
    shown = min(probabilities, key=lambda other: abs(other - u))
    chosen = every[every["u"].isna() | (every["u"] == shown)]
    course = along(chosen, ["protocol", "u"], "epoch", ["accuracy", "V"])
    last = final(every)
    last["messages_per_step"] = last["messages"] / last["step"]
    ends = points(last, ["protocol", "u"], ["accuracy", "V", "messages_per_step"])
    budget = last.groupby("u")["messages_per_step"].mean()
    return EdgeProbabilities(probabilities, shown, course, ends, budget)
