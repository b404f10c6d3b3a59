"""Centralized SGD, gossip and NGO on the same problem, seed by seed (Sections 2.2 and 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from ngo.gossip import least_squares, theory
from ngo.measures.theorems.connected_graphs import connected_graphs

if TYPE_CHECKING:
    from ngo.measures.theory import TheorySettings


def races(settings: TheorySettings) -> pd.DataFrame:
    """The gap f(x_avg^T) − f* of each method, on a problem for each of ``trials`` seeds.

    - ``centralized``; ``gossip`` and ``ngo`` on ``sgd_topology`` with γ = ``sgd_gamma``;
    - ``synchronized``: gossip on the complete graph with γ = ``sync_gamma``, which keeps V small.

    ``gap`` is a mean over ``trial_repeats`` runs. ``noise_term`` and ``sync_term`` are the terms II
    and III of Theorem 2.1 at T, with σ̄² and V as measured.
    """
    s = settings
    ((_, _, W),) = connected_graphs([s.sgd_topology], [s.sgd_workers], s.u, s.seed)
    ((_, _, complete),) = connected_graphs(["complete"], [s.sgd_workers], s.u, s.seed)
    methods = {
        "centralized": {},
        "synchronized": {"W": complete, "gamma": s.sync_gamma, "p": 1.0},
        "gossip": {"W": W, "gamma": s.sgd_gamma, "p": 1.0},
        "ngo": {"W": W, "gamma": s.sgd_gamma, "p": s.sgd_p},
    }
    record = sorted({round(T) for T in np.geomspace(1, s.trial_steps, s.points)})
    records = []
    for trial in range(s.trials):
        seed = s.seed + trial
        problem = least_squares.gaussian_problem(
            s.sgd_workers, s.samples, s.dimension, s.noise, s.heterogeneity, seed
        )
        a = theory.step_offset(problem.mu, problem.L, s.sgd_gamma, W)
        facts = {"mu": problem.mu, "L": problem.L, "a": a, "n": s.sgd_workers, "distance2": 0.0}
        for method, consensus in methods.items():
            run = least_squares.sgd(
                problem,
                s.trial_steps,
                a=a,
                batch=s.batch_size,
                repeats=s.trial_repeats,
                seed=seed,
                record=record,
                **consensus,
            )
            steps = torch.arange(s.trial_steps, dtype=torch.float64)
            weighted = ((a + steps) ** 2 * run.V.mean(1)).cumsum(0)
            for k, T in enumerate(run.T):
                noise = theory.sgd_bound(T, sigma2=run.sigma2, **facts)
                sync = theory.sgd_bound(T, sigma2=0.0, weighted_V=float(weighted[T - 1]), **facts)
                records.append(
                    {
                        "method": method,
                        "seed": seed,
                        "n": s.sgd_workers,
                        "T": T,
                        "gap": float(run.gap[k].mean()),
                        "noise_term": noise,
                        "sync_term": sync,
                    }
                )
    return pd.DataFrame(records)
