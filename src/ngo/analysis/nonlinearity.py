"""Accuracy and V over a grid of exponents p and synchronization rates γ; gossip is p = 1."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ngo.analysis.curves import along, points, scores
from ngo.analysis.stability import chatter_floor
from ngo.analysis.tuning import best_settings, tuning_grid
from verdicts.rows.evaluations import final

BY = ["method", "p", "gamma"]
OWN = ["method", "p"]
"""Each p of a method has a best γ of its own."""


@dataclass(frozen=True)
class Nonlinearity:
    """The numbers of Figure 4."""

    ends: pd.DataFrame
    """``curves.points`` of accuracy and V at the end, by method, p and γ."""
    floor: pd.DataFrame
    """The predicted floor of NGO's V (``stability.chatter_floor``)."""
    best: pd.DataFrame
    """The γ of each p with the best held-out accuracy; no rows without held-out samples."""
    course: pd.DataFrame
    """``curves.along`` of accuracy and V at that γ, with centralized learning."""


def nonlinearity(metrics: pd.DataFrame) -> Nonlinearity:
    """The numbers of Figure 4. Raises a UserError for runs of one seed that it can't tell apart."""
    every = scores(metrics)
    ends = points(final(every), BY, ["accuracy", "V"])
    best = own_best_gammas(metrics)
    chosen = every.merge(best[BY], on=BY) if len(best) else every[every["gamma"].isna()]
    course = along(chosen, BY, "epoch", ["accuracy", "V"]) if len(chosen) else chosen
    return Nonlinearity(ends, chatter_floor(metrics[metrics["method"] == "ngo"]), best, course)


def own_best_gammas(metrics: pd.DataFrame) -> pd.DataFrame:
    """The best γ of each method and p by held-out accuracy (``tuning.best_settings``)."""
    if "holdout_accuracy" not in metrics or metrics["holdout_accuracy"].isna().all():
        return pd.DataFrame(columns=[*BY, "edge", "held_out"])
    return best_settings(tuning_grid(metrics), OWN)[[*BY, "edge", "held_out"]]
