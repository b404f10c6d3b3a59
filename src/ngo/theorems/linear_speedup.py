"""Section 2.1: the gap of gossip falls as 1/n with the number of workers, a linear speed-up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ngo.common.registry import UserError
from ngo.theorems.graphs import sgd_graph
from ngo.theorems.theorem import by_seed, part, rows_of
from verdicts.quantity_registry import quantity

if TYPE_CHECKING:
    import pandas as pd

    from ngo.measures.theory_table import TheoryOptions


@part("speedup", "seed", "n", "T", "gap")
def gaps_by_workers(s: TheoryOptions) -> Iterator[tuple]:
    """The gap f(x_avg^T) − f* of gossip after ``trial_steps`` steps, for each n and seed.

    All workers draw from the same samples, so that f, its constants and the learning rates do not
    depend on n: iid data in the sense of Section 2. ``gap`` is a mean over ``trial_repeats`` runs.
    """
    from ngo.gossip import bounds, least_squares

    for seed in range(s.seed, s.seed + s.trials):
        one = least_squares.gaussian_problem(1, s.samples, s.dimension, s.noise, 0.0, seed)
        for n in s.speedup_workers:
            shared = least_squares.LeastSquares(
                one.A.expand(n, -1, -1).contiguous(), one.b.expand(n, -1).contiguous()
            )
            run = least_squares.sgd(
                shared,
                s.trial_steps,
                a=bounds.step_offset(shared.mu, shared.L),
                batch=s.batch_size,
                repeats=s.trial_repeats,
                seed=seed,
                record=[s.trial_steps],
                W=sgd_graph(s, n),
                gamma=s.sgd_gamma,
            )
            yield seed, n, s.trial_steps, float(run.gap[-1].mean())


@quantity("theory_speedup_slope", unit="log per log")
def speedup_slope(table: pd.DataFrame) -> pd.Series:
    """Per seed: the slope of log gap in log n; −1 is a linear speed-up (Section 2.1)."""
    import numpy as np
    import pandas as pd

    rows = rows_of(table, "speedup")
    if rows["n"].nunique() < 2:
        raise UserError("speedup_workers: a slope needs two numbers of workers or more.")
    slopes = {
        seed: np.polyfit(np.log(group["n"]), np.log(group["gap"]), 1)[0]
        for seed, group in rows.groupby("seed")
    }
    return by_seed(pd.Series(slopes))
