"""What is known of rounds without learning before they run: bounds on V, and the consensus time."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pandas as pd
import torch

from ngo.common.options import DECLARED
from ngo.gossip.bounds import finite_time_bound
from ngo.gossip.disturbance import Chebyshev
from ngo.gossip.topology import TOPOLOGIES, Mixing


def with_bounds(found: pd.DataFrame, n: int, t: int, V0: float) -> pd.DataFrame:
    """Rows of ``rounds.comparison`` for ``n`` workers, with ``V_bound`` and ``T_star``.

    ``V_bound``: the largest V that ``t`` undisturbed rounds can leave of V(0) = ``V0``, of linear
    and of accelerated gossip. ``T_star``: the rounds after which Theorem 3.1, with the factor that
    its proof loses (``finite_time_bound``), has NGO agree in continuous time. NaN where theory has
    none: for other mixers, and on random graphs.
    """
    rows = found.to_dict("records")
    return found.assign(
        V_bound=[V0 * _most(row, n, t) for row in rows],
        T_star=[_time(row, n, V0) for row in rows],
    )


def _most(row: dict, n: int, t: int) -> float:
    """The largest V(t)/V(0): ‖P − 11ᵀ/n‖², where P is what the rounds make of the identity."""
    if row["mixer"] not in ("linear", "chebyshev") or _is_random(row["topology"]):
        return math.nan
    mixing, gamma = _mixing(row["topology"], n), row["gamma"]
    accelerated = Chebyshev(mixing.at(0), gamma)
    P = torch.eye(n).double()
    for k in range(t):
        W = mixing.at(k)
        P = accelerated(P, W, P) if row["mixer"] == "chebyshev" else P + gamma * (W @ P - P)
    return float(torch.linalg.matrix_norm(P - 1 / n, 2)) ** 2


def _time(row: dict, n: int, V0: float) -> float:
    if row["mixer"] != "NGO" or TOPOLOGIES[row["topology"]].varies:
        return math.nan
    return finite_time_bound(V0, _mixing(row["topology"], n).at(0), row["p"], row["gamma"])


def _is_random(topology: str) -> bool:
    return "generator" in TOPOLOGIES[topology].arguments


def _mixing(topology: str, n: int) -> Mixing:
    """The matrices of a topology whose options have their defaults."""
    fields = SimpleNamespace(**{name: option.default for name, option in DECLARED.items()})
    return Mixing(topology, n, fields)
