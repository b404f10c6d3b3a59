"""Consensus trajectories: rounds to consensus, the limit of the delay, states by round."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pandas as pd

from ngo.analysis.curves import together
from ngo.gossip.bounds import delay_limit
from ngo.gossip.topology import TOPOLOGIES, Mixing


def courses(trajectories: pd.DataFrame, share: float) -> pd.DataFrame:
    """The trajectories as one table of two parts (``curves.part``).

    ``states``: the workers' states and V by round, for each p and delay. ``rounds``: the first
    round with V ≤ ``share`` · V(0), see ``consensus_rounds``.
    """
    return together(states=state_rows(trajectories), rounds=consensus_rounds(trajectories, share))


def consensus_rounds(trajectories: pd.DataFrame, share: float) -> pd.DataFrame:
    """The first round with V ≤ ``share`` · V(0), or NaN, and the last V, for each p and delay."""
    records = []
    for (p, delay), group in trajectories.groupby(["p", "delay"]):
        V = group.drop_duplicates("round").set_index("round")["V"].sort_index()
        reached = V.index[share * V.iloc[0] >= V]
        first = reached[0] if len(reached) else float("nan")
        records.append((p, delay, V.iloc[0], first, V.iloc[-1]))
    columns = ["p", "delay", "V_initial", "first_round", "V_final"]
    return pd.DataFrame(records, columns=columns)


def delay_limit_in_rounds(trajectories: pd.DataFrame) -> float:
    """The limit of the delay theorem on the trajectories' graph, in rounds: π/(2λ_n(L(W))) / γ.

    Infinity for a topology that changes from round to round.
    """
    first = trajectories.iloc[0]
    if TOPOLOGIES[first["topology"]].varies:
        return math.inf
    fields = SimpleNamespace(**first.to_dict())
    W = Mixing(first["topology"], int(first["workers"]), fields).at(0)
    return delay_limit(W) / first["gamma"]


def state_rows(trajectories: pd.DataFrame) -> pd.DataFrame:
    """The trajectories with one row for each round: the workers' states as x0, x1, …"""
    return in_columns(trajectories, "worker", "x")


def in_columns(table: pd.DataFrame, number: str, value: str) -> pd.DataFrame:
    """The table with the ``value`` of each ``number`` in a column of its own: x0, x1, …"""
    others = [name for name in table if name not in (number, value)]
    wide = table.pivot(index=others, columns=number, values=value)
    return wide.add_prefix("x").rename_axis(columns=None).reset_index()
