"""The index V at which rounds of NGO end: the chatter floor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd
import torch

from ngo.common.registry import UserError
from ngo.common.seeding import torch_stream
from ngo.gossip import consensus, theory
from ngo.measures.theorems.connected_graphs import connected_graphs

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions

# Rounds over which a floor is averaged.
FLOOR_ROUNDS = 100

# The most numbers in all states of one trajectory.
MAX_NUMBERS = 10**9


def chatter_floors(options: TheoryOptions) -> pd.DataFrame:
    """V at the end of rounds of NGO from a Gaussian state, and V of the largest two-cycle.

    Each run lasts for twice the sharp T* of the continuous system, in rounds; ``measured`` is the
    mean over the next ``FLOOR_ROUNDS``. p = 1/2 is left out: no floor is predicted there.
    """
    dimension = options.floor_dimension
    records = []
    graphs = connected_graphs(options.topologies, options.workers, options.u, options.seed)
    for topology, n, W in graphs:
        generator = torch_stream(options.seed, "theory states", n)
        X0 = torch.randn(n, dimension, generator=generator, dtype=torch.float64)
        V0 = float(consensus.synchronization_index(X0))
        for p in options.p:
            if p == 0.5:
                continue
            for gamma in options.floor_gamma:
                bound = theory.finite_time_bound(V0, W, p, gamma, "sharp")
                if 2 * bound * X0.numel() > MAX_NUMBERS:
                    raise UserError(
                        f"floor_gamma: {gamma!r} takes {2 * bound:,.0f} rounds at p = {p!r} on {n} "
                        f"workers in {dimension} dimensions; it must be larger."
                    )
                rounds = math.ceil(2 * bound)
                run = consensus.simulate(X0, W, p, gamma, rounds + FLOOR_ROUNDS)
                records.append(
                    {
                        "topology": topology,
                        "n": n,
                        "p": p,
                        "gamma": gamma,
                        "dimension": dimension,
                        "measured": float(run.V[-FLOOR_ROUNDS:].mean()),
                        "predicted": theory.chatter_V(gamma, W, p, dimension),
                    }
                )
    return pd.DataFrame(records)
