"""Theorem 3.1: NGO in continuous time, p in [1/2, 1), has V = 0 from T* on."""

from __future__ import annotations

import math

from ngo.common.types import Table
from ngo.theorems.graphs import graphs, states
from ngo.theorems.theorem import Options, Rows, checked_form, part, rows_of
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases

# The synchronization rate only sets the unit of time.
GAMMA = 1.0

# Of ``bounds.finite_time_bound``.
FORMS = ("paper", "corrected", "sharp")

# The error of the solver's times.
SOLVER = 1e-5


@part("bounds", "topology", "n", "p", "gamma", "draw", "V0", "measured", *FORMS)
def consensus_times(s: Options) -> Rows:
    """The time at which the continuous system reaches V ≤ ``tol`` · V(0), and T* in each form.

    One row for each graph, p and Gaussian initial state. V reaches 0 slightly later than
    ``measured``, so a T* below ``measured`` is refuted.
    """
    from ngo.gossip import consensus
    from ngo.gossip.bounds import finite_time_bound

    for topology, n, W in graphs(s):
        starts = states(n, s.draws, s.seed, "theory states", n)
        for p in s.p:
            for draw, X0 in enumerate(starts):
                V0 = float(consensus.synchronization_index(X0))
                bounds = {form: finite_time_bound(V0, W, p, GAMMA, form) for form in FORMS}
                flow = consensus.integrate(X0, W, p, GAMMA, t_end=4 * bounds["sharp"], tol=s.tol)
                measured = math.inf if flow.consensus_time is None else flow.consensus_time
                yield topology, n, p, GAMMA, draw, V0, measured, *bounds.values()


@quantity("theory_consensus_time", example="{form: paper}", cases=True)
def consensus_time(table: Table, form: str) -> Table:
    """V is 0 from T* on (Theorem 3.1), with T* in a form of ``bounds.finite_time_bound``.

    Two workers meet the sharp time exactly, up to the solver's accuracy.
    """
    rows = rows_of(table, "bounds")
    limit = rows[checked_form(form, FORMS)]
    met = rows["measured"] <= limit * (1 + SOLVER)
    return cases(rows, ("topology", "n", "p", "draw"), rows["measured"], limit, met)


@quantity("theory_finite_time", cases=True)
def finite_time(table: Table) -> Table:
    """Sublinear coupling: V has fallen to ``tol`` · V(0) by the sharp T* (Figure 3, p = 1/2)."""
    rows = rows_of(table, "bounds")
    rows = rows[rows["p"] == 0.5]
    met = rows["measured"] <= rows["sharp"] * (1 + SOLVER)
    return cases(rows, ("topology", "n", "draw"), rows["measured"], rows["sharp"], met)
