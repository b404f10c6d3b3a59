"""The theory measurement with small settings, measured once per process."""

from functools import cache

import pandas as pd

from ngo.analysis.theory_verdicts import split
from ngo.measures.theory import TheoryOptions, theory_table

OPTIONS = TheoryOptions(
    topologies=("ring", "random", "complete"), workers=(2, 5), u=0.4, p=(0.5, 0.75), seed=0,
    tol=1e-10, draws=2, delay_step=0.2, delay_rounds=250, delay_share=0.01,
    marginal_delay=(5,), starts=4, order_p=(0.5, 1.0, 2.0), order_share=0.01,
    degree_share=(0.5, 0.9, 1.5), random_rounds=300, link_loss=0.5,
    floor_gamma=(0.5, 1.0), floor_dimension=20,
    sgd_topology="ring", sgd_workers=5, sgd_gamma=0.2, sgd_p=0.9,
    samples=50, dimension=3, noise=0.5, heterogeneity=0.5, batch_size=4,
    steps=300, points=8, repeats=5, sgd_distance=(2.0, 20.0),
    trials=3, trial_steps=200, trial_repeats=4, sync_gamma=0.9, speedup_workers=(2, 8),
    curvature=10.0, lemma_states=500,
)  # fmt: skip


@cache
def small_table() -> pd.DataFrame:
    """The whole table."""
    return theory_table(OPTIONS)


def small_parts(folder) -> dict[str, pd.DataFrame]:
    """The parts of the table, by kind, read back from a file in ``folder``."""
    small_table().to_parquet(folder / "theory.parquet")
    return split(pd.read_parquet(folder / "theory.parquet"))
