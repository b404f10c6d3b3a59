"""The predicted floor of V: discrete nonlinear gossip does not come to rest."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd

FLOOR = "predicted floor of V"


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
