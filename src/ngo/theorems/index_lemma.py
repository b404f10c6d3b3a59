"""Supplement A: under SGD with gossip, E V^(t+1) ≤ 40 η_t² n G²/β², with β = 1 − γλ₂ as printed.

The amended form has β = γλ₂, the spectral gap of a step.
"""

from __future__ import annotations

from ngo.common.types import Table
from ngo.theorems.graphs import sgd_graph
from ngo.theorems.sgd_problem import problem, sgd, spaced
from ngo.theorems.theorem import Options, Rows, checked_form, part, rows_of
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases


@part("spreads", "form", "topology", "n", "gamma", "T", "V", "limit")
def spreads(s: Options) -> Rows:
    """E V^(t+1) of SGD with gossip, and 40 η_t² n G²/β², for each γ of ``floor_gamma``.

    ``form`` is printed, β = 1 − γλ₂(L(W)), or amended, β = γλ₂(L(W)). Each has the offset
    a = max(5/β, 16 L/μ) with that β. Rows are steps t + 1 = T from 2 to ``trial_steps``. The
    workers start at x*, so that G², the largest E‖∇F_i‖² of the run, is not that of a distant
    start.
    """
    from ngo.gossip import least_squares
    from ngo.gossip.spectrum import algebraic_connectivity

    at_optimum = least_squares.at_distance(problem(s, s.seed), 0.0)
    W, n = sgd_graph(s), s.sgd_workers
    for gamma in s.floor_gamma:
        gap = gamma * algebraic_connectivity(W)
        for form, beta in (("printed", 1 - gap), ("amended", gap)):
            a = max(16 * at_optimum.L / at_optimum.mu, 5 / beta)
            record = spaced(2, s.trial_steps, s.points)
            run = sgd(s, at_optimum, s.trial_steps, record, a=a, W=W, gamma=gamma)
            V = run.V.mean(1)
            for T in run.T:
                eta = 4 / (at_optimum.mu * (a + T - 2))
                limit = 40 * eta**2 * n * run.G2 / beta**2
                yield form, s.sgd_topology, n, gamma, T, float(V[T - 1]), limit


@quantity("theory_index_lemma", example="{form: printed}", cases=True)
def index_lemma(table: Table, form: str) -> Table:
    """E V^(t+1) ≤ 40 η_t² n G²/β² (Supplement A); ``form`` is printed or amended."""
    rows = rows_of(table, "spreads")
    rows = rows[rows["form"] == checked_form(form, ("printed", "amended"))]
    return cases(rows, ("gamma", "T"), rows["V"], rows["limit"], rows["V"] <= rows["limit"])
