"""Supplement A, first lemma: continuous linear consensus ends at the mean of the initial states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.common.types import Table
from ngo.theorems.graphs import graphs, states
from ngo.theorems.theorem import Options, Rows, part, rows_of
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases

if TYPE_CHECKING:
    import numpy as np


# The solution ends when the slowest mode has decayed by e to this power, to 1e-13.
DECAYS = 30
# Relative and absolute error of a step of the solver.
RELATIVE, ABSOLUTE = 1e-12, 1e-14
# The error of the limit.
MEAN_ERROR = 1e-10


@part("means", "topology", "n", "draw", "measured")
def means(s: Options) -> Rows:
    """The distance of the last state of dx_i/dt = Σ_j W_ij (x_j − x_i) from the initial mean.

    ``measured`` is the largest |x_i − x̄(0)| as a share of its initial value, for each graph and
    Gaussian initial state. The equation is solved as it is printed, by an explicit method.
    """
    import numpy as np
    from scipy.integrate import solve_ivp

    from ngo.gossip.spectrum import algebraic_connectivity

    for topology, n, W in graphs(s):
        weights = W.numpy()
        t_end = DECAYS / algebraic_connectivity(W)

        def velocity(t: float, x: np.ndarray, weights: np.ndarray = weights) -> np.ndarray:
            return (weights * (x[None, :] - x[:, None])).sum(1)

        for draw, X0 in enumerate(states(n, s.draws, s.seed, "theory means", n)):
            x0 = X0[:, 0].numpy()
            error = {"rtol": RELATIVE, "atol": ABSOLUTE}
            solved = solve_ivp(velocity, (0, t_end), x0, method="DOP853", **error)
            off = np.abs(solved.y[:, -1] - x0.mean()).max() / np.abs(x0 - x0.mean()).max()
            yield topology, n, draw, float(off)


@quantity("theory_continuous_mean", cases=True)
def continuous_mean(table: Table) -> Table:
    """Continuous linear consensus ends at the initial mean (first lemma of Supplement A)."""
    rows = rows_of(table, "means")
    met = rows["measured"] <= MEAN_ERROR
    return cases(rows, ("topology", "n", "draw"), rows["measured"], MEAN_ERROR, met)
