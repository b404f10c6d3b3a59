"""Consensus times of the continuous system (Theorem 3.1)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip import consensus, theory
from ngo.measures.theorems.connected_graphs import connected_graphs

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions

# The synchronization rate only sets the unit of time.
GAMMA = 1.0


def consensus_times(options: TheoryOptions) -> pd.DataFrame:
    """The time at which the continuous system reaches V ≤ ``tol`` · V(0), and T* in each form.

    One row for each graph, p and Gaussian initial state. V reaches 0 slightly later than
    ``measured``, so a T* below ``measured`` is refuted.
    """
    records = []
    graphs = connected_graphs(options.topologies, options.workers, options.u, options.seed)
    for topology, n, W in graphs:
        generator = torch_stream(options.seed, "theory states", n)
        states = [
            torch.randn(n, 1, generator=generator, dtype=torch.float64)
            for _ in range(options.draws)
        ]
        for p in options.p:
            for draw, X0 in enumerate(states):
                V0 = float(consensus.synchronization_index(X0))
                bounds = {
                    form: theory.finite_time_bound(V0, W, p, GAMMA, form)
                    for form in ("paper", "corrected", "sharp")
                }
                flow = consensus.integrate(
                    X0, W, p, GAMMA, t_end=4 * bounds["sharp"], tol=options.tol
                )
                measured = math.inf if flow.consensus_time is None else flow.consensus_time
                records.append(
                    {
                        "topology": topology,
                        "n": n,
                        "p": p,
                        "gamma": GAMMA,
                        "draw": draw,
                        "V0": V0,
                        "measured": measured,
                        **bounds,
                    }
                )
    return pd.DataFrame(records)
