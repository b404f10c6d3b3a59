"""First hitting times: when a run first reaches the accuracy that all protocols end with."""

from __future__ import annotations

import pandas as pd

from ngo.analysis.evaluations import final


def with_first_hitting(metrics: pd.DataFrame) -> pd.DataFrame:
    """``metrics`` with the column ``first_hitting`` (epochs); NaN for a diverged run.

    The target is the lowest final accuracy among the protocols with the same data set, partition
    and seed.
    """
    rows = final(metrics)
    cases = rows.groupby(["dataset", "partition", "seed"])
    targets = cases["consensus_accuracy"].transform("min")
    times = first_hitting(metrics, targets.set_axis(rows["run"]))
    times = times.where(~rows.set_index("run")["diverged"])
    return metrics.assign(first_hitting=metrics["run"].map(times))


def first_hitting(metrics: pd.DataFrame, target: pd.Series) -> pd.Series:
    """The epoch of each run's first evaluation at which its consensus model reaches ``target``.

    ``target`` and the result are indexed by run; NaN for a run that never reaches it.
    """
    reached = metrics["consensus_accuracy"] >= metrics["run"].map(target)
    return metrics[reached].groupby("run")["epoch"].min().reindex(metrics["run"].unique())
