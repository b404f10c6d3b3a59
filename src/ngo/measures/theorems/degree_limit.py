"""Discrete linear consensus with γ on either side of 1/Δ (Supplement A)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import torch

from ngo.gossip.spectrum import laplacian
from ngo.measures.theorems.connected_graphs import connected_graphs
from ngo.measures.theorems.residual import residual

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions


def degree_limit(options: TheoryOptions) -> pd.DataFrame:
    """What is left of V after ``delay_rounds`` rounds with γ = ``degree_share`` / Δ.

    Δ is the largest weighted degree, max_i Σ_{j≠i} W_ij, with two kinds of weights: Metropolis
    (doubly stochastic, as the theorem asks) and 1 on every edge, for which Δ counts neighbours. The
    start is the sum of the eigenvectors of λ₂ and λ_n. ``limit`` is 2/λ_n: linear gossip converges
    for all smaller γ.
    """
    records = []
    graphs = connected_graphs(options.topologies, options.workers, options.u, options.seed)
    for topology, n, W in graphs:
        between = W - torch.diag(W.diagonal())
        for weights, A in (("metropolis", between), ("unit", (between > 0).double())):
            degree = float(A.sum(1).max())
            values, vectors = torch.linalg.eigh(laplacian(A))
            X0 = vectors[:, [1, -1]].sum(1, keepdim=True) if n > 2 else vectors[:, -1:]
            for share in options.degree_share:
                gamma = share / degree
                records.append(
                    {
                        "topology": topology,
                        "n": n,
                        "weights": weights,
                        "share": share,
                        "gamma": gamma,
                        "limit": 2 / float(values[-1]),
                        "residual": residual(X0, A, 1.0, gamma, options.delay_rounds),
                    }
                )
    return pd.DataFrame(records)
