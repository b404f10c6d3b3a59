"""Consensus if links fail at random (Section 3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip.weights import metropolis_hastings
from ngo.measures.theorems.connected_graphs import connected_graphs
from ngo.measures.theorems.residual import residual, unit_spread

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions

# Linear consensus has this many times the rounds.
LONGER = 4


def link_failures(options: TheoryOptions) -> pd.DataFrame:
    """What is left of V after rounds in which each link fails with probability ``link_loss``.

    Links fail independently in each round; the rest has Metropolis weights, and γ is ``sgd_gamma``.
    ``without`` is the residual of as many rounds without failures. One row for each graph and
    exponent: ``sgd_p`` with ``delay_rounds`` rounds; 1, which is slower, with ``LONGER`` as many.
    """
    s = options
    records = []
    for topology, n, W in connected_graphs(s.topologies, s.workers, s.u, s.seed):
        generator = torch_stream(s.seed, "theory failures", n)
        X0 = unit_spread(n, generator)
        edges = W.triu(1).nonzero()
        failing = []
        for _ in range(LONGER * s.delay_rounds):
            kept = torch.rand(len(edges), generator=generator) >= s.link_loss
            failing.append(metropolis_hastings(n, edges[kept].tolist()))
        for p, rounds in ((s.sgd_p, s.delay_rounds), (1.0, LONGER * s.delay_rounds)):
            records.append(
                {
                    "topology": topology,
                    "n": n,
                    "p": p,
                    "loss": s.link_loss,
                    "residual": residual(X0, failing, p, s.sgd_gamma, rounds),
                    "without": residual(X0, W, p, s.sgd_gamma, rounds),
                }
            )
    return pd.DataFrame(records)
