"""Supplement A: discrete linear consensus is reached for every γ below 1/Δ."""

from __future__ import annotations

from ngo.common.types import Table
from ngo.theorems.graphs import graphs
from ngo.theorems.residual import VANISHED, residual
from ngo.theorems.theorem import Options, Rows, part, rows_of
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases


@part("degrees", "topology", "n", "weights", "share", "gamma", "limit", "residual")
def degrees(s: Options) -> Rows:
    """What is left of V after ``delay_rounds`` rounds with γ = ``degree_share`` / Δ.

    Δ is the largest weighted degree, max_i Σ_{j≠i} W_ij, with two kinds of weights: Metropolis
    (doubly stochastic, as the theorem asks) and 1 on every edge, for which Δ counts neighbours. The
    start is the sum of the eigenvectors of λ₂ and λ_n. ``limit`` is 2/λ_n: linear gossip converges
    for all smaller γ.
    """
    import torch

    from ngo.gossip.spectrum import laplacian

    for topology, n, W in graphs(s):
        between = W - torch.diag(W.diagonal())
        for weights, A in (("metropolis", between), ("unit", (between > 0).double())):
            degree = float(A.sum(1).max())
            values, vectors = torch.linalg.eigh(laplacian(A))
            X0 = vectors[:, [1, -1]].sum(1, keepdim=True) if n > 2 else vectors[:, -1:]
            for share in s.degree_share:
                gamma = share / degree
                left = residual(X0, A, 1.0, gamma, s.delay_rounds)
                yield topology, n, weights, share, gamma, 2 / float(values[-1]), left


@quantity("theory_degree_limit", cases=True)
def degree_limit(table: Table) -> Table:
    """Discrete linear consensus is reached for 0 < γ < 1/Δ (Supplement A).

    The theorem claims nothing for larger γ; those rows are no cases.
    """
    rows = rows_of(table, "degrees")
    rows = rows[rows["share"] < 1]
    names = ("topology", "n", "weights", "share")
    return cases(rows, names, rows["residual"], VANISHED, rows["residual"] <= VANISHED)
