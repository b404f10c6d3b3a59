"""Section 3.3: consensus is reached, with probability 1, on graphs that are drawn in each round."""

from __future__ import annotations

from types import SimpleNamespace

from ngo.common.seeding import torch_stream
from ngo.common.types import Table
from ngo.gossip.topology import Mixing
from ngo.theorems.graphs import unit_spread
from ngo.theorems.residual import VANISHED, residual
from ngo.theorems.theorem import Options, Rows, checked_form, part, rows_of
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases


@part("random", "form", "n", "p", "gamma", "seed", "residual")
def random_graphs(s: Options) -> Rows:
    """What is left of V after ``random_rounds`` rounds on draws of G(n, u).

    ``form`` printed: weights of 0 or 1 and no γ, as in the paper's equations (aijp) and (random);
    amended: Metropolis weights and γ = ``sgd_gamma``. Both see the same draws, with the exponents
    ``sgd_p`` and 1.
    """
    for n in s.workers:
        for seed in range(s.seed, s.seed + s.draws):
            X0 = unit_spread(n, torch_stream(seed, "theory random states", n))
            drawing = torch_stream(seed, "theory random graphs", n)
            mixing = Mixing("random", n, SimpleNamespace(u=s.u), drawing)
            drawn = [mixing.at(t) for t in range(s.random_rounds)]
            unit = [(W.dense().fill_diagonal_(0) > 0).double() for W in drawn]
            for form, matrices, gamma in (("printed", unit, 1.0), ("amended", drawn, s.sgd_gamma)):
                for p in (s.sgd_p, 1.0):
                    left = residual(X0, matrices, p, gamma, s.random_rounds)
                    yield form, n, p, gamma, seed, left


@quantity("theory_random_system", example="{form: printed}", cases=True)
def random_system(table: Table, form: str) -> Table:
    """The random system reaches consensus with probability 1 (Section 3.3).

    ``form``: printed (weights 0 or 1, no γ) or amended (Metropolis weights and γ).
    """
    rows = rows_of(table, "random")
    rows = rows[rows["form"] == checked_form(form, ("printed", "amended"))]
    met = rows["residual"] <= VANISHED
    return cases(rows, ("n", "p", "seed"), rows["residual"], VANISHED, met)
