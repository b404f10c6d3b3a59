"""The linear speed-up of gossip in the number of workers (Section 2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ngo.gossip import least_squares, theory
from ngo.measures.theorems.connected_graphs import connected_graphs

if TYPE_CHECKING:
    from ngo.measures.theory import TheoryOptions


def speedup(options: TheoryOptions) -> pd.DataFrame:
    """The gap f(x_avg^T) − f* of gossip after ``trial_steps`` steps, for each n and seed.

    All workers draw from the same samples, so that f, its constants and the learning rates do not
    depend on n: iid data in the sense of Section 2. ``gap`` is a mean over ``trial_repeats`` runs.
    """
    s = options
    records = []
    for trial in range(s.trials):
        seed = s.seed + trial
        one = least_squares.gaussian_problem(1, s.samples, s.dimension, s.noise, 0.0, seed)
        for n in s.speedup_workers:
            ((_, _, W),) = connected_graphs([s.sgd_topology], [n], s.u, s.seed)
            problem = least_squares.LeastSquares(
                one.A.expand(n, -1, -1).contiguous(), one.b.expand(n, -1).contiguous()
            )
            run = least_squares.sgd(
                problem,
                s.trial_steps,
                a=theory.step_offset(problem.mu, problem.L),
                batch=s.batch_size,
                repeats=s.trial_repeats,
                seed=seed,
                record=[s.trial_steps],
                W=W,
                gamma=s.sgd_gamma,
            )
            records.append(
                {"seed": seed, "n": n, "T": s.trial_steps, "gap": float(run.gap[-1].mean())}
            )
    return pd.DataFrame(records)
