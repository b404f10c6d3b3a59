"""Convergence of SGD on least squares (Theorems 2.1 and 3.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from ngo.gossip import least_squares, theory
from ngo.measures.theorems.connected_graphs import connected_graphs

if TYPE_CHECKING:
    from ngo.measures.theory import TheorySettings


def convergence_gaps(settings: TheorySettings) -> pd.DataFrame:
    """The gap f(x_avg^T) − f* of SGD, mean over ``repeats``, and its bounds.

    Centralized SGD, linear gossip and NGO, at about ``points`` numbers of steps T from 1 to
    ``steps``, equally spaced in log T. ``bound`` sums w_t V^(t) over all steps. ``printed`` is the
    bound as printed: for NGO the sum ends at T*, which is 0 rounds because all workers start at the
    same point. ``V`` is the index of the last step, which should then be 0.
    """
    s = settings
    problem = least_squares.gaussian_problem(
        s.sgd_workers, s.samples, s.dimension, s.noise, s.heterogeneity, s.seed
    )
    ((_, _, W),) = connected_graphs([s.sgd_topology], [s.sgd_workers], s.u, s.seed)
    a = theory.step_offset(problem.mu, problem.L, s.sgd_gamma, W)
    record = sorted({round(T) for T in np.geomspace(1, s.steps, s.points)})
    records = []
    protocols = {
        "centralized": {},
        "gossip": {"W": W, "gamma": s.sgd_gamma, "p": 1.0},
        "ngo": {"W": W, "gamma": s.sgd_gamma, "p": s.sgd_p},
    }
    for protocol, consensus in protocols.items():
        run = least_squares.sgd(
            problem,
            s.steps,
            a=a,
            batch=s.batch_size,
            repeats=s.repeats,
            seed=s.seed,
            record=record,
            **consensus,
        )
        V = run.V.mean(1)
        weighted = ((a + torch.arange(s.steps, dtype=torch.float64)) ** 2 * V).cumsum(0)
        if protocol == "ngo":
            last = int(theory.finite_time_bound(float(V[0]), W, s.sgd_p, s.sgd_gamma, "paper"))
        else:
            last = s.steps - 1
        for k, T in enumerate(run.T):
            bound, printed = (
                theory.sgd_bound(
                    T,
                    mu=problem.mu,
                    L=problem.L,
                    a=a,
                    sigma2=run.sigma2,
                    n=s.sgd_workers,
                    distance2=run.distance2,
                    weighted_V=float(weighted[end]),
                )
                for end in (T - 1, min(T - 1, last))
            )
            records.append(
                {
                    "protocol": protocol,
                    "n": s.sgd_workers,
                    "T": T,
                    "gap": float(run.gap[k].mean()),
                    "bound": bound,
                    "printed": printed,
                    "V": float(V[T - 1]),
                }
            )
    return pd.DataFrame(records)
