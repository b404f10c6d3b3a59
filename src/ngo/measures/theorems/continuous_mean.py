"""The state to which continuous linear consensus tends (Supplement A)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip.spectrum import algebraic_connectivity
from ngo.measures.theorems.connected_graphs import connected_graphs

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions

# The solution ends when the slowest mode has decayed by e to this power, to 1e-13.
DECAYS = 30
# Relative and absolute error of a step of the solver.
RELATIVE, ABSOLUTE = 1e-12, 1e-14


def continuous_mean(options: TheoryOptions) -> pd.DataFrame:
    """The distance of the last state of dx_i/dt = Σ_j W_ij (x_j − x_i) from the initial mean.

    ``measured`` is the largest |x_i − x̄(0)| as a share of its initial value, for each graph and
    Gaussian initial state. The equation is solved as it is printed, by an explicit method.
    """
    from scipy.integrate import solve_ivp

    records = []
    graphs = connected_graphs(options.topologies, options.workers, options.u, options.seed)
    for topology, n, W in graphs:
        generator = torch_stream(options.seed, "theory means", n)
        weights = W.numpy()
        t_end = DECAYS / algebraic_connectivity(W)

        def velocity(t: float, x: np.ndarray, weights: np.ndarray = weights) -> np.ndarray:
            return (weights * (x[None, :] - x[:, None])).sum(1)

        for draw in range(options.draws):
            x0 = torch.randn(n, generator=generator, dtype=torch.float64).numpy()
            solved = solve_ivp(
                velocity, (0, t_end), x0, method="DOP853", rtol=RELATIVE, atol=ABSOLUTE
            )
            off = np.abs(solved.y[:, -1] - x0.mean()).max() / np.abs(x0 - x0.mean()).max()
            records.append({"topology": topology, "n": n, "draw": draw, "measured": float(off)})
    return pd.DataFrame(records)
