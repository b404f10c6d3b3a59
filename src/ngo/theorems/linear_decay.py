"""Section 2.1: a step of linear gossip shrinks the distance to the mean by 1 − γλ₂ or less."""

from __future__ import annotations

from ngo.common.seeding import torch_stream
from ngo.common.types import Table
from ngo.theorems.graphs import graphs
from ngo.theorems.theorem import Options, Rows, part, rows_of
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases

# Steps of gossip, and the share of the spread below which rounding would decide a ratio.
STEPS = 50
LEAST_SHARE = 1e-6

# The error of a ratio of two norms.
ROUNDING = 1e-9


@part("decays", "topology", "n", "gamma", "measured", "limit")
def decays(s: Options) -> Rows:
    """The largest factor by which ‖x − x̄‖ changes in a step, and 1 − γλ₂(L(W)).

    One row for each graph and γ of ``floor_gamma``. The starts are Gaussian states and the
    eigenvectors of λ₂ and λ_n.
    """
    import torch

    from ngo.gossip import consensus
    from ngo.gossip.spectrum import algebraic_connectivity, laplacian

    for topology, n, W in graphs(s):
        generator = torch_stream(s.seed, "theory decays", n)
        _, vectors = torch.linalg.eigh(laplacian(W))
        drawn = torch.randn(n, s.draws, generator=generator, dtype=torch.float64)
        starts = torch.cat([drawn, vectors[:, [1, -1]]], dim=1)
        connectivity = algebraic_connectivity(W)
        for gamma in s.floor_gamma:
            states = consensus.simulate(starts, W, 1.0, gamma, STEPS).states
            spread = (states - states.mean(1, keepdim=True)).norm(dim=1)
            share = spread / spread[0]
            ratio = (share[1:] / share[:-1])[share[:-1] > LEAST_SHARE]
            yield topology, n, gamma, float(ratio.max()), 1 - gamma * connectivity


@quantity("theory_linear_decay", cases=True)
def linear_decay(table: Table) -> Table:
    """A step of linear gossip changes ‖x − x̄‖ by at most 1 − γλ₂ (Section 2.1)."""
    rows = rows_of(table, "decays")
    met = rows["measured"] <= rows["limit"] + ROUNDING
    return cases(rows, ("topology", "n", "gamma"), rows["measured"], rows["limit"], met)
