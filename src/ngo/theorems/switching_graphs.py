"""Supplement A: on switching graphs, linear consensus is at least as fast as exp(−λ₂* t)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ngo.common.seeding import torch_stream
from ngo.common.types import Numbers, Table, Tensor
from ngo.theorems.graphs import graph, graphs
from ngo.theorems.theorem import Options, Rows, by_seed, part, rows_of
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases

# Random graphs of the family, in addition to one of each topology.
MORE_GRAPHS = 3
# Intervals between switches, and their mean length.
SWITCHES, MEAN_DWELL = 50, 1.0

# The error of a rate.
ROUNDING = 1e-9


@part("switches", "signal", "seed", "rate", "n", "limit")
def switches(s: Options) -> Rows:
    """The rate of decay of ‖x − x̄‖ in continuous time, dx/dt = −L(W_s(t)) x, and λ₂*.

    The family has a connected graph of each topology, and further random ones, on ``sgd_workers``
    workers; λ₂* is its smallest λ₂. ``signal`` random switches between them at random, once for
    each of ``trials`` seeds. ``signal`` slowest never leaves the graph of λ₂*, and starts at its
    eigenvector: this is the equality.
    """
    import torch

    from ngo.gossip.spectrum import algebraic_connectivity, laplacian

    n = s.sgd_workers
    family = [W for _, _, W in graphs(s, workers=[n])]
    family += [graph("random", n, s.u, s.seed + 1 + k) for k in range(MORE_GRAPHS)]
    slowest = min(family, key=algebraic_connectivity)
    limit = algebraic_connectivity(slowest)
    _, vectors = torch.linalg.eigh(laplacian(slowest))
    always = rate([slowest] * SWITCHES, [MEAN_DWELL] * SWITCHES, vectors[:, 1])
    yield "slowest", s.seed, always, n, limit
    for seed in range(s.seed, s.seed + s.trials):
        generator = torch_stream(seed, "theory switches")
        x = torch.randn(n, generator=generator, dtype=torch.float64)
        picks = torch.randint(len(family), (SWITCHES,), generator=generator).tolist()
        dwells = torch.rand(SWITCHES, generator=generator, dtype=torch.float64)
        dwells = (-MEAN_DWELL * (1 - dwells).log()).tolist()
        measured = rate([family[k] for k in picks], dwells, x)
        yield "random", seed, measured, n, limit


def rate(matrices: Sequence[Tensor], dwells: Sequence[float], x: Tensor) -> float:
    """The mean rate of decay of ‖x − x̄‖ over these graphs and times, from the state ``[n]``."""
    import torch

    from ngo.gossip.spectrum import laplacian

    x = (x - x.mean()) / (x - x.mean()).norm()
    decay = 0.0
    for W, dwell in zip(matrices, dwells, strict=True):
        x = torch.linalg.matrix_exp(-laplacian(W) * dwell) @ x
        x = x - x.mean()
        decay -= math.log(float(x.norm()))
        x = x / x.norm()
    return decay / sum(dwells)


@quantity("theory_switching", cases=True)
def switching(table: Table) -> Table:
    """On switching graphs consensus is at least as fast as λ₂* (Supplement A)."""
    rows = rows_of(table, "switches")
    met = rows["rate"] >= rows["limit"] * (1 - ROUNDING)
    return cases(rows, ("signal", "seed"), rows["rate"], rows["limit"], met)


@quantity("theory_switching_lead", unit="log ratio")
def switching_lead(table: Table) -> Numbers:
    """Per random signal: log of the rate of consensus over λ₂*."""
    import numpy as np

    rows = rows_of(table, "switches")
    rows = rows[rows["signal"] == "random"].set_index("seed")
    return by_seed(np.log(rows["rate"] / rows["limit"]))
