"""The speed of consensus on switching graphs (Supplement A)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip.spectrum import algebraic_connectivity, laplacian
from ngo.measures.theorems.connected_graphs import connected_graphs

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions

# Random graphs of the family, beside one of each topology.
MORE_GRAPHS = 3
# Intervals between switches, and their mean length.
SWITCHES, MEAN_DWELL = 50, 1.0


def switching_speed(options: TheoryOptions) -> pd.DataFrame:
    """The rate of decay of ‖x − x̄‖ in continuous time, dx/dt = −L(W_s(t)) x, and λ₂*.

    The family has a connected graph of each topology, and further random ones, on ``sgd_workers``
    workers; λ₂* is its smallest λ₂. ``signal`` random switches between them at random, once for
    each of ``trials`` seeds. ``signal`` slowest never leaves the graph of λ₂*, and starts at its
    eigenvector: this is the equality.
    """
    s = options
    family = [W for _, _, W in connected_graphs(s.topologies, [s.sgd_workers], s.u, s.seed)]
    for k in range(MORE_GRAPHS):
        ((_, _, W),) = connected_graphs(["random"], [s.sgd_workers], s.u, s.seed + 1 + k)
        family.append(W)
    speeds = [algebraic_connectivity(W) for W in family]
    least = min(speeds)
    slowest = speeds.index(least)
    _, vectors = torch.linalg.eigh(laplacian(family[slowest]))
    facts = {"n": s.sgd_workers, "limit": least}
    always = rate([family[slowest]] * SWITCHES, [MEAN_DWELL] * SWITCHES, vectors[:, 1])
    records = [{"signal": "slowest", "seed": s.seed, "rate": always, **facts}]
    for trial in range(s.trials):
        generator = torch_stream(s.seed + trial, "theory switches")
        x = torch.randn(s.sgd_workers, generator=generator, dtype=torch.float64)
        picks = torch.randint(len(family), (SWITCHES,), generator=generator).tolist()
        dwells = torch.rand(SWITCHES, generator=generator, dtype=torch.float64)
        dwells = (-MEAN_DWELL * (1 - dwells).log()).tolist()
        measured = rate([family[k] for k in picks], dwells, x)
        records.append({"signal": "random", "seed": s.seed + trial, "rate": measured, **facts})
    return pd.DataFrame(records)


def rate(matrices: list[torch.Tensor], dwells: list[float], x: torch.Tensor) -> float:
    """The mean rate of decay of ‖x − x̄‖ over these graphs and times, from the state ``[n]``."""
    x = (x - x.mean()) / (x - x.mean()).norm()
    decay = 0.0
    for W, dwell in zip(matrices, dwells, strict=True):
        x = torch.linalg.matrix_exp(-laplacian(W) * dwell) @ x
        x = x - x.mean()
        decay -= math.log(float(x.norm()))
        x = x / x.norm()
    return decay / sum(dwells)
