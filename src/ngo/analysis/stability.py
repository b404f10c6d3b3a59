"""Stability against the synchronization rate γ: the ends of runs, and the predicted floor of V."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pandas as pd

from ngo.analysis.correlations import Pooled, pooled_correlation, within_seeds
from ngo.analysis.curves import points, scores
from ngo.analysis.seed_means import check_apart
from verdicts.rows.evaluations import final

FLOOR = "predicted floor of V"


@dataclass(frozen=True)
class Stability:
    """The ends of runs at all γ, and their means on the topology with varied γ."""

    shared: list[float]
    """The γ that runs on all topologies have in common."""
    runs: pd.DataFrame
    """The last evaluation of every run; ``at_shared`` says whether its γ is a shared one."""
    correlation: Pooled
    """Correlation of log V with the test loss of the consensus model, within a seed."""
    swept: str
    """The topology with most values of γ."""
    by_gamma: pd.DataFrame
    """``curves.points`` of accuracy and V on that topology, by method and γ."""
    floor: pd.DataFrame
    """The predicted floor of NGO's V on that topology, by γ."""


def stability(metrics: pd.DataFrame) -> Stability:
    """The numbers of Figure 8. Raises a UserError for runs of one seed that it can't tell apart."""
    last = final(scores(metrics))
    check_apart(last, ["method", "topology", "gamma"])
    rates = last.groupby("topology")["gamma"].unique()
    shared = set.intersection(*map(set, rates))
    swept = rates.map(len).idxmax()
    sweep = last[last["topology"] == swept]
    return Stability(
        sorted(shared),
        last.assign(at_shared=last["gamma"].isin(shared)),
        pooled_correlation(within_seeds(last, "loss")),
        swept,
        points(sweep, ["method", "gamma"], ["accuracy", "V"]),
        chatter_floor(sweep[sweep["method"] == "ngo"]),
    )


def chatter_floor(runs: pd.DataFrame) -> pd.DataFrame:
    """V of the largest two-cycle at each p < 1 and γ of ``runs`` (``bounds.chatter_V``).

    ``runs`` have one topology and one number of workers and of parameters. Columns: p, gamma,
    value, mean. No rows for a topology that changes from step to step, and none for p = 1.
    """
    from ngo.gossip.bounds import chatter_V
    from ngo.gossip.topology import TOPOLOGIES, Mixing
    from ngo.native.pool import one_intra_op_thread

    fixed = ~runs["topology"].map(lambda name: TOPOLOGIES[name].varies)
    rows = runs[fixed & (runs["p"] < 1)].drop_duplicates(["p", "gamma"])
    if rows.empty:
        return pd.DataFrame({"p": [], "gamma": [], "value": [], "mean": []})
    run = rows.to_dict("records")[0]
    W = Mixing(run["topology"], run["workers"], SimpleNamespace(**run)).at(0)
    with one_intra_op_thread():
        units = {p: chatter_V(1.0, W, p, run["parameters"]) for p in rows["p"].unique()}
    # chatter_V scales with γ^(1/(1−p))
    floor = rows["p"].map(units) * rows["gamma"] ** (1 / (1 - rows["p"]))
    floors = rows[["p", "gamma"]].assign(value=FLOOR, mean=floor)
    return floors.sort_values(["p", "gamma"], ignore_index=True)
