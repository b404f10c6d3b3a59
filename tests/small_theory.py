"""The measurement ``theory`` with small options, each kind measured once per process."""

from functools import cache

import pandas as pd

import ngo.analysis.quantities  # noqa: F401 (its quantities)
from ngo.theorems.table import TheoryOptions, table_of
from verdicts.quantities import QUANTITIES

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
def small_rows(kind: str) -> pd.DataFrame:
    """The rows of ``kind``."""
    return table_of(kind, OPTIONS)


def asked(name: str, kind: str, rows: object, **arguments: object) -> pd.DataFrame | pd.Series:
    """What the quantity ``name`` says of rows of ``kind``, a graph's if they name none."""
    table = pd.DataFrame(rows).assign(kind=kind)
    for column, value in (("topology", "ring"), ("n", 5)):
        if column not in table:
            table[column] = value
    return QUANTITIES[name].function(table, **arguments)


def holds(name: str, kind: str, **arguments: object) -> bool:
    """Whether the quantity is met in all cases that were measured with these options."""
    return asked(name, kind, small_rows(kind), **arguments)["met"].all()
