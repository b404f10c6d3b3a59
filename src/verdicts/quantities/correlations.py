"""Correlations over the runs of a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdicts.quantity_registry import quantity

if TYPE_CHECKING:
    import pandas as pd

    from verdicts.rows.run_values import Value

LEAST_RUNS = 4
"""Fisher's z of three points or fewer has no variance."""


@quantity("fisher_z", unit="Fisher's z", example="{of: accuracy}")
def fisher_z(
    rows: pd.DataFrame,
    of: Value = "accuracy",
    log: bool = False,
    minus: float = 0.0,
    V: Value = "V",
) -> pd.Series:
    """Fisher's z of Pearson's correlation of log V with a value, over the runs of a seed.

    V is the synchronization index at the ends of runs, or another value: with ``{mean: V}``, its
    mean over training. Runs that diverged and runs with V = 0 have no log V and are left out, and
    the verdict says how many: the correlation is that among runs that did neither. NaN for a seed
    with fewer than four of them, or without a spread. ``minus`` is subtracted: z of the
    correlation to compare with.
    """
    import numpy as np
    import pandas as pd

    from verdicts.rows.run_values import per_run
    from verdicts.rows.seed_values import note
    from verdicts.statistics.estimates import ROUNDING

    runs = per_run(rows, of)
    index_V = per_run(rows, V)["value"]
    y = np.log(runs["value"].where(runs["value"] > 0)) if log else runs["value"]
    x = np.log(index_V.where(index_V > 0))
    finite = np.isfinite(x) & np.isfinite(y)
    note(runs, ~finite)
    found = {}
    for seed, index in runs.groupby("seed").groups.items():
        kept = index[finite[index]]
        a, b = x[kept].to_numpy(), y[kept].to_numpy()
        if len(kept) < LEAST_RUNS or a.std() == 0 or b.std() == 0:
            found[seed] = np.nan
            continue
        r = np.corrcoef(a, b)[0, 1]
        found[seed] = np.arctanh(np.clip(r, -1 + ROUNDING, 1 - ROUNDING)) - minus
    return pd.Series(found, dtype=float).rename_axis("seed")
