"""The bound on V under SGD with linear gossip (Supplement A)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ngo.gossip import least_squares
from ngo.gossip.spectrum import algebraic_connectivity
from ngo.measures.theorems.connected_graphs import connected_graphs

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions


def index_lemma(options: TheoryOptions) -> pd.DataFrame:
    """E V^(t+1) of SGD with gossip, and 40 η_t² n G²/β², for each γ of ``floor_gamma``.

    ``form`` is printed, β = 1 − γλ₂(L(W)), or amended, β = γλ₂(L(W)), the spectral gap of a step.
    Each form has the offset a = max(5/β, 16 L/μ) of its own theorem. Rows are steps t + 1 = T from
    2 to ``trial_steps``. The workers start at x*, so that G², the largest E‖∇F_i‖² of the run, is
    not that of a distant start.
    """
    s = options
    problem = least_squares.at_distance(
        least_squares.gaussian_problem(
            s.sgd_workers, s.samples, s.dimension, s.noise, s.heterogeneity, s.seed
        ),
        0.0,
    )
    ((topology, n, W),) = connected_graphs([s.sgd_topology], [s.sgd_workers], s.u, s.seed)
    record = sorted({round(T) for T in np.geomspace(2, s.trial_steps, s.points)})
    records = []
    for gamma in s.floor_gamma:
        gap = gamma * algebraic_connectivity(W)
        for form, beta in (("printed", 1 - gap), ("amended", gap)):
            a = max(16 * problem.L / problem.mu, 5 / beta)
            run = least_squares.sgd(
                problem,
                s.trial_steps,
                a=a,
                batch=s.batch_size,
                repeats=s.repeats,
                seed=s.seed,
                record=record,
                W=W,
                gamma=gamma,
            )
            V = run.V.mean(1)
            for T in record:
                eta = 4 / (problem.mu * (a + T - 2))
                records.append(
                    {
                        "form": form,
                        "topology": topology,
                        "n": n,
                        "gamma": gamma,
                        "T": T,
                        "V": float(V[T - 1]),
                        "limit": 40 * eta**2 * n * run.G2 / beta**2,
                    }
                )
    return pd.DataFrame(records)
