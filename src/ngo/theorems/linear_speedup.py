"""Section 2.1: the gap of gossip falls as 1/n with the number of workers, a linear speed-up."""

from __future__ import annotations

from ngo.common.registry import UserError
from ngo.common.types import Numbers, Table
from ngo.theorems.graphs import sgd_graph
from ngo.theorems.sgd_problem import sgd
from ngo.theorems.theorem import Options, Rows, by_seed, part, rows_of
from verdicts.quantity_registry import quantity


@part("speedup", "seed", "n", "T", "gap")
def gaps_by_workers(s: Options) -> Rows:
    """The gap f(x_avg^T) − f* of gossip after ``trial_steps`` steps, for each n and seed.

    All workers draw from the same samples, so that f, its constants and the learning rates do not
    depend on n: iid data in the sense of Section 2. ``gap`` is a mean over ``trial_repeats`` runs.
    """
    from ngo.gossip import bounds, least_squares

    for seed in range(s.seed, s.seed + s.trials):
        one = least_squares.gaussian_problem(1, s.samples, s.dimension, s.noise, 0.0, seed)
        for n in s.speedup_workers:
            A, b = one.A.expand(n, -1, -1).contiguous(), one.b.expand(n, -1).contiguous()
            shared = least_squares.LeastSquares(A, b)
            given = {"a": bounds.step_offset(shared.mu, shared.L), "W": sgd_graph(s, n)}
            given |= {"repeats": s.trial_repeats, "seed": seed}
            run = sgd(s, shared, s.trial_steps, [s.trial_steps], **given)
            yield seed, n, s.trial_steps, float(run.gap[-1].mean())


@quantity("theory_speedup_slope", unit="log per log")
def speedup_slope(table: Table) -> Numbers:
    """Per seed: the slope of log gap in log n; −1 is a linear speed-up (Section 2.1)."""
    import numpy as np
    import pandas as pd

    rows = rows_of(table, "speedup")
    if rows["n"].nunique() < 2:
        raise UserError("speedup_workers: a slope needs two numbers of workers or more.")
    logs = rows.assign(n=np.log(rows["n"]), gap=np.log(rows["gap"])).groupby("seed")
    return by_seed(pd.Series({seed: np.polyfit(own["n"], own["gap"], 1)[0] for seed, own in logs}))
