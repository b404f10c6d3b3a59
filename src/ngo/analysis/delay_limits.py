"""The delay theorem's limit for consensus trajectories."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pandas as pd

from ngo.gossip.bounds import delay_limit
from ngo.gossip.topology import TOPOLOGIES, Mixing


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
