"""Whether V decays exponentially under linear coupling in continuous time (Figure 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip import consensus
from ngo.measures.theorems.connected_graphs import connected_graphs

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions

SAMPLES = 100
T_END = 1e12


def exponential_decay(options: TheoryOptions) -> pd.DataFrame:
    """How far log V is from a straight line in t, for each graph and Gaussian initial state.

    ``measured`` is the largest distance of log V from its line of least squares, over the second
    half of the fall of log V to ``tol``, as a share of that half. The coupling is linear.
    """
    records = []
    graphs = connected_graphs(options.topologies, options.workers, options.u, options.seed)
    for topology, n, W in graphs:
        generator = torch_stream(options.seed, "theory logs", n)
        for draw in range(options.draws):
            X0 = torch.randn(n, 1, generator=generator, dtype=torch.float64)
            flow = consensus.integrate(X0, W, 1.0, t_end=T_END, tol=options.tol, samples=SAMPLES)
            measured = distance_from_line(flow.times.numpy(), flow.V.log().numpy())
            records.append(
                {"topology": topology, "n": n, "p": 1.0, "draw": draw, "measured": measured}
            )
    return pd.DataFrame(records)


def distance_from_line(times: np.ndarray, log_V: np.ndarray) -> float:
    """The largest distance of the second half of ``log_V`` from its line, as a share of its fall.

    The second half is where ``log_V`` has fallen by more than half of its whole fall.
    """
    half = log_V <= (log_V[0] + log_V[-1]) / 2
    t, y = times[half], log_V[half]
    scaled = (t - t[0]) / (t[-1] - t[0])
    slope, level = np.polyfit(scaled, y, 1)
    return float(np.abs(y - slope * scaled - level).max() / (y[0] - y[-1]))
