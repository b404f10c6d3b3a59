"""V of rounds of NGO ends near that of the largest two-cycle, the chatter floor.

The paper does not say so: its Theorem 3.1 is about continuous time.
"""

from __future__ import annotations

import math
from itertools import product

from ngo.common.registry import UserError
from ngo.common.seeding import torch_stream
from ngo.common.types import Table
from ngo.theorems.graphs import graphs
from ngo.theorems.residual import FACTOR
from ngo.theorems.theorem import Options, Rows, part, rows_of
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases

# Rounds over which a floor is averaged.
FLOOR_ROUNDS = 100

# The most numbers in all states of one trajectory.
MAX_NUMBERS = 10**9


@part("floors", "topology", "n", "p", "gamma", "dimension", "measured", "predicted")
def chatter_floors(s: Options) -> Rows:
    """V at the end of rounds of NGO from a Gaussian state, and V of the largest two-cycle.

    Each run lasts for twice the sharp T* of the continuous system, in rounds; ``measured`` is the
    mean over the next ``FLOOR_ROUNDS``. p = 1/2 is left out: no floor is predicted there.
    """
    import torch

    from ngo.gossip import bounds, consensus

    dimension = s.floor_dimension
    for topology, n, W in graphs(s):
        generator = torch_stream(s.seed, "theory states", n)
        X0 = torch.randn(n, dimension, generator=generator, dtype=torch.float64)
        V0 = float(consensus.synchronization_index(X0))
        for p, gamma in product([p for p in s.p if p != 0.5], s.floor_gamma):
            bound = bounds.finite_time_bound(V0, W, p, gamma, "sharp")
            if 2 * bound * X0.numel() > MAX_NUMBERS:
                raise UserError(
                    f"floor_gamma: {gamma!r} takes {2 * bound:,.0f} rounds at p = {p!r} on {n} "
                    f"workers in {dimension} dimensions; it must be larger."
                )
            run = consensus.simulate(X0, W, p, gamma, math.ceil(2 * bound) + FLOOR_ROUNDS)
            measured = float(run.V[-FLOOR_ROUNDS:].mean())
            predicted = bounds.chatter_V(gamma, W, p, dimension)
            yield topology, n, p, gamma, dimension, measured, predicted


@quantity("theory_chatter_floor", cases=True)
def chatter_floor(table: Table) -> Table:
    """V of rounds ends near the largest two-cycle (``bounds.chatter_V``); no claim of the paper."""
    rows = rows_of(table, "floors")
    met = (rows["measured"] / rows["predicted"]).between(1 / FACTOR, FACTOR)
    names = ("topology", "n", "p", "gamma")
    return cases(rows, names, rows["measured"], rows["predicted"], met)
