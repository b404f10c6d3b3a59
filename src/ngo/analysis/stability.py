"""Stability against the synchronization rate γ: runs to compare, and the predicted floor of V."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pandas as pd

from ngo.analysis.curves import points, scores
from ngo.analysis.evaluations import check_apart, final


@dataclass(frozen=True)
class Stability:
    """The ends of runs at a shared γ, and of those with varied γ."""

    shared: list[float]
    """The γ that runs on all topologies have in common."""
    runs: pd.DataFrame
    """The last evaluation of every run at a shared γ."""
    swept: str
    """The topology with most values of γ."""
    by_gamma: pd.DataFrame
    """``curves.points`` of accuracy and V on that topology, by protocol and γ."""
    floor: pd.DataFrame
    """The predicted floor of NGO's V on that topology, by γ."""


def stability(metrics: pd.DataFrame) -> Stability:
    """The numbers of Figure 8. Raises a UserError for runs of one seed that it can't tell apart."""
    last = final(scores(metrics))
    check_apart(last, ["protocol", "topology", "gamma"])
    rates = last.groupby("topology")["gamma"].unique()
    shared = set.intersection(*map(set, rates))
    swept = rates.map(len).idxmax()
    sweep = last[last["topology"] == swept]
    return Stability(
        sorted(shared),
        last[last["gamma"].isin(shared)],
        swept,
        points(sweep, ["protocol", "gamma"], ["accuracy", "V"]),
        chatter_floor(sweep[sweep["protocol"] == "ngo"]),
    )


def chatter_floor(runs: pd.DataFrame) -> pd.DataFrame:
    """V of the largest two-cycle at each γ of ``runs`` (``theory.chatter_V``).

    No rows for a topology that changes from step to step.
    """
    from ngo.gossip.theory import chatter_V
    from ngo.gossip.topology import TOPOLOGIES, Mixing
    from ngo.native.pool import one_intra_op_thread

    fixed = ~runs["topology"].map(lambda name: TOPOLOGIES[name].varies)
    rows = runs[fixed & (runs["p"] < 1)].drop_duplicates("gamma").sort_values("gamma")
    if rows.empty:
        return pd.DataFrame({"gamma": [], "value": [], "mean": []})
    run = rows.to_dict("records")[0]
    W = Mixing(run["topology"], run["workers"], SimpleNamespace(**run)).at(0)
    with one_intra_op_thread():
        unit = chatter_V(1.0, W, run["p"], run["parameters"])
    floor = unit * rows["gamma"] ** (1 / (1 - run["p"]))  # chatter_V scales with γ like this
    return pd.DataFrame({"gamma": rows["gamma"], "value": "predicted floor of V", "mean": floor})
