"""Section 3.3: consensus is reached though links fail at random."""

from __future__ import annotations

from ngo.common.seeding import torch_stream
from ngo.common.types import Table
from ngo.theorems.graphs import graphs, unit_spread
from ngo.theorems.residual import FACTOR, VANISHED, residual
from ngo.theorems.theorem import Options, Rows, part, rows_of
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases

# Linear consensus has this many times the rounds.
LONGER = 4


@part("failures", "topology", "n", "p", "loss", "residual", "without")
def failures(s: Options) -> Rows:
    """What is left of V after rounds in which each link fails with probability ``link_loss``.

    Links fail independently in each round; the rest has Metropolis weights, and γ is ``sgd_gamma``.
    ``without`` is the residual of as many rounds without failures. One row for each graph and
    exponent: ``sgd_p`` with ``delay_rounds`` rounds; 1, which is slower, with ``LONGER`` as many.
    """
    import torch

    from ngo.gossip.mixing_matrix import metropolis_hastings

    for topology, n, W in graphs(s):
        generator = torch_stream(s.seed, "theory failures", n)
        X0 = unit_spread(n, generator)
        edges = W.triu(1).nonzero()
        failing = []
        for _ in range(LONGER * s.delay_rounds):
            kept = torch.rand(len(edges), generator=generator) >= s.link_loss
            failing.append(metropolis_hastings(n, edges[kept].numpy()))
        for p, rounds in ((s.sgd_p, s.delay_rounds), (1.0, LONGER * s.delay_rounds)):
            left = residual(X0, failing, p, s.sgd_gamma, rounds)
            without = residual(X0, W, p, s.sgd_gamma, rounds)
            yield topology, n, p, s.link_loss, left, without


@quantity("theory_link_failures", cases=True)
def link_failures(table: Table) -> Table:
    """V vanishes though links fail at random (Section 3.3).

    For p < 1, V may also end at twice the floor of the same rounds without failures.
    """
    rows = rows_of(table, "failures")
    limit = (FACTOR * rows["without"]).where(rows["p"] < 1, 0).clip(lower=VANISHED)
    met = rows["residual"] <= limit
    return cases(rows, ("topology", "n", "p"), rows["residual"], limit, met)
