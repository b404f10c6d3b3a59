"""First hitting times: when a run first reaches a target that was fixed beforehand."""

from __future__ import annotations

import numpy as np
import pandas as pd

from verdicts.rows.run_values import worst_of
from verdicts.statistics.estimates import exceeds


def crossing(x: np.ndarray, y: np.ndarray, target: float) -> float:
    """The first ``x`` at which ``y``, linear between points, reaches ``target`` from below.

    A point that is off the target by rounding alone is at it. inf if ``y`` never reaches it; a NaN
    in ``y`` reaches nothing.
    """
    reached = np.flatnonzero(~(exceeds(-y, -target) | np.isnan(y)))
    if not len(reached):
        return np.inf
    k = reached[0]
    if k == 0 or not np.isfinite(y[k - 1]):
        return float(x[k])
    share = min(1.0, (target - y[k - 1]) / (y[k] - y[k - 1]))
    return float(x[k - 1] + share * (x[k] - x[k - 1]))


def time_to(metrics: pd.DataFrame, target: float, column: str, clock: str = "epoch") -> pd.Series:
    """When ``column`` of each run first reaches ``target``, in epochs or steps (``clock``).

    A loss or an error reaches the target from above, all else from below. Linear between points.
    Indexed by run; inf for a run that never reaches it, and for a diverged run.
    """
    sign = -1.0 if worst_of(column) == np.inf else 1.0
    found = {}
    for run, rows in metrics.sort_values("step", kind="stable").groupby("run", sort=False):
        y = sign * rows[column].to_numpy(float)
        lost = rows["diverged"].any()
        found[run] = np.inf if lost else crossing(rows[clock].to_numpy(float), y, sign * target)
    return pd.Series(found, dtype=float)
