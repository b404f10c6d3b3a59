"""Delays under which consensus is still reached (the delay theorem of Section 3.3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd
import torch

from ngo.gossip import consensus, theory
from ngo.gossip.spectrum import laplacian
from ngo.measures.theorems.connected_graphs import connected_graphs
from ngo.measures.theorems.residual import residual

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions


def delay_tolerances(options: TheoryOptions) -> pd.DataFrame:
    """The largest delay under which consensus in rounds is reached, and its limits, for p = 1 too.

    - ``tolerated``, for p = 1: the largest delay under which V decays, since it then vanishes. A
      sublinear coupling may keep oscillating at a smaller V; for p < 1 it is the largest delay
      under which V falls below ``delay_share`` of its initial value.
    - ``limit``: π/(2λ_n); ``limit_of_rounds``: the same for rounds. Delays are in units of time.
    - ``residual``: the remaining share of V(0) at half the limit; ``floor``: that without a delay.

    The initial state is the eigenvector of λ_n, the first to become unstable, with unit spread. For
    p ≠ 1 the results depend on the spread.
    """
    gamma, rounds = options.delay_step, options.delay_rounds
    records = []
    graphs = connected_graphs(options.topologies, options.workers, options.u, options.seed)
    for topology, n, W in graphs:
        _, vectors = torch.linalg.eigh(laplacian(W))
        X0 = vectors[:, -1:] * math.sqrt(n)
        limit = theory.delay_limit(W)
        for p in (*options.p, 1.0):
            share = 1.0 if p == 1 else options.delay_share
            records.append(
                {
                    "topology": topology,
                    "n": n,
                    "p": p,
                    "gamma": gamma,
                    "tolerated": consensus.delayed_tolerance(X0, W, p, gamma, rounds, share),
                    "limit": limit,
                    "limit_of_rounds": theory.delay_limit(W, gamma),
                    "residual": residual(X0, W, p, gamma, rounds, round(limit / 2 / gamma)),
                    "floor": residual(X0, W, p, gamma, rounds),
                }
            )
    return pd.DataFrame(records)
