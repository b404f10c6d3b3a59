"""Figure 3: linear coupling in continuous time reaches consensus exponentially."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.common.types import Table
from ngo.theorems.graphs import graphs, states
from ngo.theorems.theorem import Options, Rows, part, rows_of
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases

if TYPE_CHECKING:
    import numpy as np


SAMPLES = 100
T_END = 1e12

# The largest distance of log V from a straight line, as a share of its fall. A sum of two
# exponentials with close rates bends by some 1 %; V that vanishes in finite time, by 10 to 35 %.
LINE = 0.05


@part("logs", "topology", "n", "p", "draw", "measured")
def exponential_decay(s: Options) -> Rows:
    """How far log V is from a straight line in t, for each graph and Gaussian initial state.

    ``measured`` is the largest distance of log V from its line of least squares, over the second
    half of the fall of log V to ``tol``, as a share of that half. The coupling is linear.
    """
    from ngo.gossip import consensus

    for topology, n, W in graphs(s):
        for draw, X0 in enumerate(states(n, s.draws, s.seed, "theory logs", n)):
            flow = consensus.integrate(X0, W, 1.0, t_end=T_END, tol=s.tol, samples=SAMPLES)
            measured = distance_from_line(flow.times.numpy(), flow.V.log().numpy())
            yield topology, n, 1.0, draw, measured


def distance_from_line(times: np.ndarray, log_V: np.ndarray) -> float:
    """The largest distance of the second half of ``log_V`` from its line, as a share of its fall.

    The second half is where ``log_V`` has fallen by more than half of its whole fall.
    """
    import numpy as np

    half = log_V <= (log_V[0] + log_V[-1]) / 2
    t, y = times[half], log_V[half]
    scaled = (t - t[0]) / (t[-1] - t[0])
    slope, level = np.polyfit(scaled, y, 1)
    return float(np.abs(y - slope * scaled - level).max() / (y[0] - y[-1]))


@quantity("theory_log_linear", cases=True)
def log_linear(table: Table) -> Table:
    """Linear coupling: log V is a straight line in time (Figure 3, p = 1)."""
    rows = rows_of(table, "logs")
    met = rows["measured"] <= LINE
    return cases(rows, ("topology", "n", "draw"), rows["measured"], LINE, met)
