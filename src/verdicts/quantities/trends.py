"""Slopes within a seed: of a value on p, γ, H, log n, or on log V."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from verdicts.quantity_registry import quantity
from verdicts.registry import UserError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from verdicts.rows.run_values import Value
    from verdicts.rows.selection import Column, Selection


@quantity(
    "slope",
    unit="that of the value, for 1 of the field",
    example="{along: workers, value: accuracy}",
)
def slope(
    rows: pd.DataFrame,
    along: Column,
    value: Value = "accuracy",
    log_along: bool = False,
    log: bool = False,
    of: Selection | None = None,
    minus: Selection | None = None,
    over: Sequence[Column] = (),
    best: Column | None = None,
) -> pd.Series:
    """The least-squares slope of the value on the field ``along``, by seed; mean over ``over``.

    ``log_along`` and ``log`` take the natural logarithm of the field and of the value. With ``of``
    and ``minus``, the value is the difference between these runs: NGO − gossip against log n.
    With ``best``, runs are those at the best value of that field: each p at its own best γ
    (``best_fields.at_best``).

    A run that diverged makes the slope infinite, in the direction of its value. NaN if such runs
    pull both ways, and for a seed with a missing run.
    """
    import numpy as np

    from verdicts.rows.best_fields import at_best
    from verdicts.rows.seed_values import by_seed, logs, weighted_sum

    fields = [along, *over]
    rows = at_best(rows, [best], fields, value) if best else rows

    def side(where: Selection) -> pd.DataFrame:
        table = by_seed(rows, where, value, fields)
        return logs(table) if log else table

    if minus is None:
        table = side(of or {})
    else:
        table = weighted_sum([(1, side(of or {})), (-1, side(minus))])
    return _over_keys(table, lambda x, y: slope_of(np.log(x) if log_along else x, y))


@quantity("rank_trend", unit="rank correlation", example="{along: workers, value: accuracy}")
def rank_trend(
    rows: pd.DataFrame,
    along: Column,
    value: Value = "accuracy",
    over: Sequence[Column] = (),
) -> pd.Series:
    """The trend of the ranks of the value along a field, by seed (Page's test for trend).

    1 if the value rises from each level of the field to the next, −1 if it falls. Page's L is a
    linear function of its mean over seeds. Diverged runs have the worst rank, and share it. NaN for
    a seed with a missing run.
    """
    from scipy.stats import rankdata

    from verdicts.rows.seed_values import by_seed

    table = by_seed(rows, {}, value, [along, *over])
    return _over_keys(table, lambda x, y: _correlation(rankdata(x), rankdata(y)))


@quantity("slope_on_V", unit="that of the value, for a factor e of V", example="{value: accuracy}")
def slope_on_V(
    rows: pd.DataFrame, value: Value = "accuracy", log: bool = False, V: Value = "V"
) -> pd.Series:
    """The least-squares slope of the value on log V over the runs of a seed.

    V is that at the ends of runs, or another value, such as ``{mean: V}``. Runs that diverged and
    runs with V = 0 have no log V and are left out, and the verdict says how many: the slope is that
    among runs that did neither. NaN for a seed with fewer than three of them.
    """
    import numpy as np
    import pandas as pd

    from verdicts.rows.run_values import per_run
    from verdicts.rows.seed_values import note

    runs = per_run(rows, value)
    runs["log_V"] = np.log(per_run(rows, V)["value"].where(lambda each: each > 0))
    finite = np.isfinite(runs["log_V"]) & np.isfinite(runs["value"])
    note(runs, ~finite)
    found = {}
    for seed, group in runs.groupby("seed"):
        shown = group[finite[group.index]]
        y = shown["value"].to_numpy(float)
        y = np.log(y) if log else y
        found[seed] = slope_of(shown["log_V"].to_numpy(), y) if len(shown) >= 3 else np.nan
    return pd.Series(found, dtype=float).rename_axis("seed")


def _over_keys(table: pd.DataFrame, number: Callable[[np.ndarray, np.ndarray], float]) -> pd.Series:
    """``number(x, y)`` for each seed and rest of the key, with the first part of the key as x."""
    import numpy as np
    import pandas as pd

    from verdicts.rows.seed_values import mean_over

    columns = {}
    for rest in dict.fromkeys(key[1:] for key in table.columns):
        keys = sorted(key for key in table.columns if key[1:] == rest)
        x = _places([key[0] for key in keys])
        Y = table[keys].to_numpy(float)
        columns[rest] = [np.nan if np.isnan(y).any() else number(x, y) for y in Y]
    return mean_over(pd.DataFrame(list(columns.values()), columns=table.index).T)


def _places(values: Sequence[object]) -> np.ndarray:
    """The values of the field as numbers."""
    import numpy as np

    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        text = next((each for each in values if isinstance(each, str)), values[0])
        raise UserError(f"along: {text!r} is not a number.") from None


def slope_of(x: np.ndarray, y: np.ndarray) -> float:
    """The least-squares slope; NaN if all ``x`` are equal."""
    import numpy as np

    from verdicts.rows.seed_values import total
    from verdicts.statistics.estimates import ROUNDING

    centred = x - x.mean()
    square = float(centred @ centred)
    if square == 0:
        return np.nan
    # 0 · inf: a run at the mean of x does not change the slope.
    moved = np.abs(centred) > ROUNDING * np.abs(centred).max()
    return float(total(centred[moved] * y[moved])) / square


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    import numpy as np

    if x.std() == 0 or y.std() == 0:
        return np.nan
    return float(np.corrcoef(x, y)[0, 1])
