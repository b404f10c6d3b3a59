"""Cases of statements about the theory table: rows of one kind, compared with a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.common.registry import UserError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

RESIDUAL = 1e-6
"""V counts as vanished at or below this share of V(0)."""

FACTOR = 2.0
"""Two values of V are alike if they are within this factor."""


def part(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The rows of ``kind`` with the columns that they have; a UserError if there are none."""
    rows = table[table["kind"] == kind] if "kind" in table else table.iloc[:0]
    if rows.empty:
        raise UserError(f"kind: the theory table has no rows of kind {kind!r}; measure it again.")
    return rows.drop(columns="kind").dropna(axis=1, how="all").reset_index(drop=True)


def cases(
    rows: pd.DataFrame,
    names: tuple[str, ...],
    measured: pd.Series | np.ndarray,
    limit: pd.Series | np.ndarray | float,
    met: pd.Series | np.ndarray,
) -> pd.DataFrame:
    """The columns ``case``, ``measured``, ``limit`` and ``met``; a case has the values ``names``.

    A UserError if there are no rows: a statement without cases is not decided.
    """
    import pandas as pd

    if rows.empty:
        raise UserError("cases: the theory table has no row for this statement.")
    return pd.DataFrame(
        {
            "case": [
                ", ".join(f"{name} {_shown(row[name])}" for name in names)
                for row in rows[list(names)].to_dict("records")
            ],
            "measured": pd.Series(measured).to_numpy(dtype=float),
            "limit": limit if isinstance(limit, float | int) else pd.Series(limit).to_numpy(float),
            "met": pd.Series(met).to_numpy(dtype=bool),
        }
    )


def by_seed(values: pd.Series) -> pd.Series:
    """``values``, indexed by seed, as floats with seeds as whole numbers."""
    values = values.astype(float)
    values.index = values.index.astype(int)
    return values.rename_axis("seed")


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
