"""The decay of linear gossip in each step (Section 2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip import consensus
from ngo.gossip.spectrum import algebraic_connectivity, laplacian
from ngo.measures.theorems.connected_graphs import connected_graphs

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions

# Steps of gossip, and the share of the spread below which rounding would decide a ratio.
STEPS = 50
LEAST_SHARE = 1e-6


def linear_decay(options: TheoryOptions) -> pd.DataFrame:
    """The largest factor by which ‖x − x̄‖ changes in a step, and 1 − γλ₂(L(W)).

    One row for each graph and γ of ``floor_gamma``. The starts are Gaussian states and the
    eigenvectors of λ₂ and λ_n.
    """
    records = []
    graphs = connected_graphs(options.topologies, options.workers, options.u, options.seed)
    for topology, n, W in graphs:
        generator = torch_stream(options.seed, "theory decays", n)
        _, vectors = torch.linalg.eigh(laplacian(W))
        drawn = torch.randn(n, options.draws, generator=generator, dtype=torch.float64)
        starts = torch.cat([drawn, vectors[:, [1, -1]]], dim=1)
        connectivity = algebraic_connectivity(W)
        for gamma in options.floor_gamma:
            states = consensus.simulate(starts, W, 1.0, gamma, STEPS).states
            spread = (states - states.mean(1, keepdim=True)).norm(dim=1)
            share = spread / spread[0]
            ratio = (share[1:] / share[:-1])[share[:-1] > LEAST_SHARE]
            records.append(
                {
                    "topology": topology,
                    "n": n,
                    "gamma": gamma,
                    "measured": float(ratio.max()),
                    "limit": 1 - gamma * connectivity,
                }
            )
    return pd.DataFrame(records)
