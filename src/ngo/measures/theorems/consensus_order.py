"""The order in which sublinear, linear and superlinear coupling reach consensus (Figure 3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip import consensus
from ngo.measures.theorems.connected_graphs import connected_graphs

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions

# Far beyond the time of any coupling.
T_END = 1e12


def consensus_order(options: TheoryOptions) -> pd.DataFrame:
    """The time at which V ≤ ``order_share`` · V(0) in continuous time, for each start and p.

    The ``starts`` are Gaussian states of ``sgd_workers`` workers on ``sgd_topology``; each has a
    stream of its own, (seed + start, "theory orders").
    """
    s = options
    ((_, n, W),) = connected_graphs([s.sgd_topology], [s.sgd_workers], s.u, s.seed)
    records = []
    for start in range(s.starts):
        generator = torch_stream(s.seed + start, "theory orders")
        X0 = torch.randn(n, 1, generator=generator, dtype=torch.float64)
        for p in s.order_p:
            flow = consensus.integrate(X0, W, p, t_end=T_END, tol=s.order_share)
            time = math.inf if flow.consensus_time is None else flow.consensus_time
            records.append({"seed": s.seed + start, "n": n, "p": p, "time": time})
    return pd.DataFrame(records)
