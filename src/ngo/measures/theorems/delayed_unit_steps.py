"""The delay theorem for the rounds as printed: steps of length 1 (Section 3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip import theory
from ngo.measures.theorems.connected_graphs import connected_graphs
from ngo.measures.theorems.residual import residual

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions

DELAYS = (0, 1)


def delayed_unit_steps(options: TheoryOptions) -> pd.DataFrame:
    """What is left of V after ``delay_rounds`` rounds of the delay equation with p = 1.

    The equation has no γ. One row for each graph and delay τ of 0 and 1 rounds; ``limit`` is
    π/(2λ_n), up to which the theorem allows τ.
    """
    records = []
    graphs = connected_graphs(options.topologies, options.workers, options.u, options.seed)
    for topology, n, W in graphs:
        generator = torch_stream(options.seed, "theory unit steps", n)
        X0 = torch.randn(n, 1, generator=generator, dtype=torch.float64)
        for delay in DELAYS:
            left = residual(X0, W, 1.0, 1.0, options.delay_rounds, delay)
            records.append(
                {
                    "topology": topology,
                    "n": n,
                    "delay": delay,
                    "limit": theory.delay_limit(W),
                    "residual": left,
                }
            )
    return pd.DataFrame(records)
