"""Cases: a table with the columns ``case``, ``measured``, ``limit`` and ``met``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from verdicts.registry import UserError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("case", "measured", "limit", "met")


def cases(
    rows: pd.DataFrame,
    names: Sequence[str],
    measured: pd.Series | np.ndarray,
    limit: pd.Series | np.ndarray | float,
    met: pd.Series | np.ndarray,
) -> pd.DataFrame:
    """The columns ``case``, ``measured``, ``limit`` and ``met``; a case has the values ``names``.

    A UserError if there are no rows: a statement without cases is not decided.
    """
    import pandas as pd

    if rows.empty:
        raise UserError("cases: no row is left for this statement.")
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


def hardest(cases: pd.DataFrame) -> pd.Series:
    """The case furthest beyond its limit; if all are met, the one nearest to its limit.

    Distances are those of logarithms. A measured value or a limit that is no number is NaN.
    """
    import pandas as pd

    table = cases.reset_index(drop=True)
    for name in ("measured", "limit"):
        table[name] = pd.to_numeric(table[name], errors="coerce").astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = pd.Series(np.log(table["measured"] / table["limit"]))
    distance = ratio.abs().fillna(np.inf)
    broken = ~table["met"].eq(True)
    at = distance[broken].argmax() if broken.any() else distance.argmin()
    return (table[broken] if broken.any() else table).iloc[int(at)]


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
