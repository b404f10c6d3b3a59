"""How much a value varies over the values of a field, within a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdicts.quantity_registry import quantity

if TYPE_CHECKING:
    import pandas as pd

    from verdicts.rows.run_values import Value
    from verdicts.rows.selection import Column, Selection


@quantity("spread", unit="that of the value", example="{across: gamma, value: accuracy}")
def spread(
    rows: pd.DataFrame,
    across: Column,
    value: Value = "accuracy",
    where: Selection | None = None,
) -> pd.Series:
    """The largest − the smallest value over the field ``across``, by seed.

    inf if a run diverged; NaN for a seed with a missing run.
    """
    import numpy as np

    from verdicts.rows.seed_values import by_seed

    table = by_seed(rows, where or {}, value, [across])
    found = table.max(axis=1, skipna=False) - table.min(axis=1, skipna=False)
    return found.mask(table.isin([np.inf, -np.inf]).any(axis=1) & table.notna().all(axis=1), np.inf)


@quantity(
    "log_spread_ratio",
    unit="log ratio",
    example="{of: {method: b}, to: {method: a}, across: gamma}",
)
def log_spread_ratio(
    rows: pd.DataFrame,
    of: Selection,
    to: Selection,
    across: Column,
    value: Value = "accuracy",
) -> pd.Series:
    """The natural logarithm of spread(``of``) / spread(``to``), by seed.

    ±inf if a run of one side diverged; no number if runs of both did.
    """
    import numpy as np
    import pandas as pd

    from verdicts.rows.seed_values import total

    sides = [spread(rows, across, value, where) for where in (of, to)]
    seeds = sides[0].index.union(sides[1].index)
    with np.errstate(divide="ignore"):
        ours, theirs = (np.log(side.reindex(seeds).to_numpy()) for side in sides)
    return pd.Series(total(np.array([ours, -theirs])), index=seeds).rename_axis("seed")
