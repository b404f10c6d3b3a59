"""Training with messages that arrive τ steps late, by coupling."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ngo.analysis.curves import points, scores
from ngo.analysis.scaling import gains
from ngo.analysis.seed_means import check_apart
from verdicts.rows.evaluations import final

TASK = ["dataset", "partition"]
APART = [*TASK, "topology", "p", "delay"]


@dataclass(frozen=True)
class DelayedTraining:
    """The ends of runs by data set, partition, topology, coupling (``method``) and τ."""

    ends: pd.DataFrame
    """``curves.points`` of accuracy and V."""
    gain: pd.DataFrame
    """``curves.points`` of difference: the accuracy of NGO − that of gossip, paired by seed."""


def delayed_training(metrics: pd.DataFrame) -> DelayedTraining:
    """The numbers of the figure ``delay``.

    Raises a UserError for runs of one seed that it can't tell apart.
    """
    last = with_delay(final(scores(metrics)))
    check_apart(last, APART)
    by = [*TASK, "topology", "delay"]
    return DelayedTraining(
        points(last, [*by, "method"], ["accuracy", "V"]),
        points(gains(last, by, "accuracy"), [*by, "method"], ["difference"]),
    )


def with_delay(metrics: pd.DataFrame) -> pd.DataFrame:
    """``metrics`` with ``delay`` (τ, 0 for gossip and NGO) and the coupling as ``method``.

    A linear coupling (p = 1) is ``gossip``, another ``ngo``, late or not.
    """
    coupled = metrics["p"].notna()
    coupling = metrics["method"].mask(coupled, "ngo").mask(metrics["p"] == 1, "gossip")
    return metrics.assign(method=coupling, delay=metrics["delay"].fillna(0).astype(int))
