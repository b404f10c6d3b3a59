"""Linear consensus with a delay that is exactly the limit (Section 3.3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd
import torch

from ngo.gossip.spectrum import laplacian
from ngo.measures.theorems.connected_graphs import connected_graphs
from ngo.measures.theorems.residual import residual

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions

# Delays as shares of the limit.
SHARES = (0.9, 1.0)
# A run lasts for this many delays.
DELAYS = 200


def marginal_delays(options: TheoryOptions) -> pd.DataFrame:
    """What is left of V with a delay at the limit, and at 0.9 of it, for each ``marginal_delay``.

    A delay of k rounds is the limit of linear consensus in rounds of length γ =
    2 sin(π/(2(2k + 1)))/λ_n. For large k, kγ tends to π/(2λ_n), the limit in continuous time. The
    start is the eigenvector of λ_n.
    """
    records = []
    graphs = connected_graphs(options.topologies, options.workers, options.u, options.seed)
    for topology, n, W in graphs:
        values, vectors = torch.linalg.eigh(laplacian(W))
        for delay in options.marginal_delay:
            at_limit = 2 * math.sin(math.pi / (2 * (2 * delay + 1))) / float(values[-1])
            for share in SHARES:
                left = residual(vectors[:, -1:], W, 1.0, share * at_limit, DELAYS * delay, delay)
                records.append(
                    {
                        "topology": topology,
                        "n": n,
                        "delay": delay,
                        "share": share,
                        "residual": left,
                    }
                )
    return pd.DataFrame(records)
