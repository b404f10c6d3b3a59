"""Rules for the weights of an undirected graph's mixing matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ngo.common.registry import Registry

if TYPE_CHECKING:
    import numpy as np

    from ngo.gossip.mixing_matrix import MixingMatrix

#: (number of workers, edges [e, 2]) → a symmetric, doubly stochastic matrix.
WeightRule = Callable[[int, "np.ndarray"], "MixingMatrix"]

WEIGHT_RULES: Registry[WeightRule] = Registry("weights")

METROPOLIS = "metropolis"


def metropolis(n: int, edges: np.ndarray) -> MixingMatrix:
    """Metropolis–Hastings weights 1/(1 + max(deg i, deg j)) (Xiao, Boyd and Kim 2007)."""
    from ngo.gossip.weights import metropolis_hastings

    return metropolis_hastings(n, edges)


def uniform(n: int, edges: np.ndarray) -> MixingMatrix:
    """The same weight 1/(1 + Δ) on all edges, with Δ the largest degree of the step's graph.

    Constant edge weights (Xiao and Boyd 2004, Section 4.1); with the 1 the diagonal is above 0.
    """
    from ngo.gossip.weights import uniform_weights

    return uniform_weights(n, edges)


WEIGHT_RULES.add(METROPOLIS, metropolis, metropolis)
WEIGHT_RULES.add("uniform", uniform, uniform)
