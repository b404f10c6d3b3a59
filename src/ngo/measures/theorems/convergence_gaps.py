"""Convergence of SGD on least squares (Theorems 2.1 and 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip import least_squares, theory
from ngo.gossip.topology import Mixing
from ngo.measures.theorems.connected_graphs import connected_graphs

if TYPE_CHECKING:
    from ngo.measures.theory import TheorySettings

# The column topology of runs on a random graph that is drawn anew in each step.
DRAWN = "redrawn"


def convergence_gaps(settings: TheorySettings) -> pd.DataFrame:
    """The gap f(x_avg^T) − f* of SGD, mean over ``repeats``, and its bounds.

    Centralized SGD, linear gossip and NGO on ``sgd_topology``, and both of these on a random graph
    drawn anew in each step; from a start at each ``sgd_distance`` from x*; at about ``points``
    numbers of steps T from 1 to ``steps``, equally spaced in log T.

    ``bound`` has the factor ‖x⁰ − x*‖² and sums w_t V^(t) over all steps. ``printed`` is the bound
    as the paper prints it: Theorem 2.1 lacks the factor; for NGO the sum ends at T*, which is 0
    rounds because all workers start at the same point. ``V`` is the index of the last step, which
    should then be 0.
    """
    s = settings
    problem = least_squares.gaussian_problem(
        s.sgd_workers, s.samples, s.dimension, s.noise, s.heterogeneity, s.seed
    )
    ((_, _, W),) = connected_graphs([s.sgd_topology], [s.sgd_workers], s.u, s.seed)
    fields = SimpleNamespace(u=s.u)

    def drawn() -> Iterator[torch.Tensor]:
        graphs = torch_stream(s.seed, "theory gap graphs", s.sgd_workers)
        return map(Mixing("random", s.sgd_workers, fields, graphs).at, range(s.steps))

    cases = [
        ("centralized", "", lambda: None, 1.0),
        *(("gossip", name, of, 1.0) for name, of in ((s.sgd_topology, lambda: W), (DRAWN, drawn))),
        *(("ngo", name, of, s.sgd_p) for name, of in ((s.sgd_topology, lambda: W), (DRAWN, drawn))),
    ]
    tables = []
    for distance in s.sgd_distance:
        moved = least_squares.at_distance(problem, distance)
        for method, topology, matrices, p in cases:
            rows = _gaps(s, moved, method, matrices(), W, p)
            tables.append(rows.assign(topology=topology, distance=distance))
    return pd.concat(tables, ignore_index=True)


def _gaps(
    s: TheorySettings,
    problem: least_squares.LeastSquares,
    method: str,
    matrices: torch.Tensor | Iterable[torch.Tensor] | None,
    W: torch.Tensor,
    p: float,
) -> pd.DataFrame:
    """The rows of one run; ``W`` decides the offset a and T*, also on random graphs."""
    a = theory.step_offset(problem.mu, problem.L, s.sgd_gamma, W)
    run = least_squares.sgd(
        problem,
        s.steps,
        a=a,
        batch=s.batch_size,
        repeats=s.repeats,
        seed=s.seed,
        record=sorted({round(T) for T in np.geomspace(1, s.steps, s.points)}),
        W=matrices,
        gamma=s.sgd_gamma,
        p=p,
    )
    V = run.V.mean(1)
    weighted = ((a + torch.arange(s.steps, dtype=torch.float64)) ** 2 * V).cumsum(0)
    last, printed_distance2 = s.steps - 1, 1.0
    if method == "ngo":
        last = int(theory.finite_time_bound(float(V[0]), W, p, s.sgd_gamma, "paper"))
        printed_distance2 = run.distance2
    records = []
    for k, T in enumerate(run.T):
        bound, printed = (
            theory.sgd_bound(
                T,
                mu=problem.mu,
                L=problem.L,
                a=a,
                sigma2=run.sigma2,
                n=s.sgd_workers,
                distance2=distance2,
                weighted_V=float(weighted[end]),
            )
            for end, distance2 in (
                (T - 1, run.distance2),
                (min(T - 1, last), printed_distance2),
            )
        )
        records.append(
            {
                "method": method,
                "n": s.sgd_workers,
                "T": T,
                "gap": float(run.gap[k].mean()),
                "bound": bound,
                "printed": printed,
                "V": float(V[T - 1]),
            }
        )
    return pd.DataFrame(records)
