"""The delay limit of continuous linear consensus, with shorter and shorter rounds (Section 3.3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd
import torch

from ngo.gossip import consensus, theory
from ngo.gossip.spectrum import laplacian
from ngo.measures.theorems.connected_graphs import connected_graphs

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions

# The length of a round is ``delay_step`` divided by each of these.
DIVISORS = (1, 2, 4)


def delay_limits_by_step(options: TheoryOptions) -> pd.DataFrame:
    """The largest delay of linear consensus in rounds of length ``step``, and π/(2λ_n).

    Delays are in units of time; a run lasts equally long for each length of a round.
    """
    records = []
    graphs = connected_graphs(options.topologies, options.workers, options.u, options.seed)
    for topology, n, W in graphs:
        _, vectors = torch.linalg.eigh(laplacian(W))
        X0 = vectors[:, -1:] * math.sqrt(n)
        for divisor in DIVISORS:
            step, rounds = options.delay_step / divisor, options.delay_rounds * divisor
            records.append(
                {
                    "topology": topology,
                    "n": n,
                    "step": step,
                    "tolerated": consensus.delayed_tolerance(X0, W, 1.0, step, rounds),
                    "limit": theory.delay_limit(W),
                }
            )
    return pd.DataFrame(records)
