"""Accuracy after equally many bytes sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ngo.analysis.quantity import quantity
from ngo.common.registry import UserError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


@quantity("difference_at_bytes")
def difference_at_bytes(
    rows: pd.DataFrame,
    of: Mapping[str, object],
    minus: Mapping[str, object],
    over: Sequence[str] = (),
    share: float = 1.0,
    choose: Sequence[str] = (),
) -> pd.Series:
    """Test accuracy of ``of`` − that of ``minus`` after equally many bytes, in points, by seed.

    The budget is ``share`` of what the more frugal of the two runs has sent at its end. Accuracy is
    linear between evaluations. A seed in which one side diverged is ±inf, against that side. With
    ``choose``, each side is at the values of these fields with its best held-out accuracy at the
    end (``best_fields.at_best``).
    """
    import numpy as np
    import pandas as pd

    from ngo.analysis.best_fields import at_best
    from ngo.analysis.seed_values import mean_over, runs_by_seed, total
    from ngo.analysis.selection import selected

    if not 0 < share <= 1:
        raise UserError(f"share: {share!r} is not allowed; it must be above 0, at most 1.")
    curves = dict(list(rows.sort_values("step").groupby("run")))
    chosen = [selected(rows, where) for where in (of, minus)]
    if choose:
        chosen = [at_best(side, choose, over) for side in chosen]
    sides = [runs_by_seed(side, "accuracy", over) for side in chosen]
    sides = [side.set_index(["seed", "key"])[["run", "value"]] for side in sides]
    both = sides[0].add_suffix("_of").join(sides[1].add_suffix("_minus"), how="outer")
    found = []
    for pair in both.itertuples():
        if pd.isna(pair.run_of) or pd.isna(pair.run_minus):
            found.append(np.nan)
            continue
        ours, theirs = curves[pair.run_of], curves[pair.run_minus]
        budget = share * min(ours["bytes_sent"].iloc[-1], theirs["bytes_sent"].iloc[-1])
        ends = [
            value if np.isinf(value) else _accuracy_at(curve, budget)
            for curve, value in ((ours, pair.value_of), (theirs, pair.value_minus))
        ]
        found.append(float(total(np.array([ends[0], -ends[1]]))))
    table = pd.Series(found, index=both.index, dtype=float).unstack("key")
    return mean_over(table)


def _accuracy_at(curve: pd.DataFrame, budget: float) -> float:
    """Accuracy in percent at a number of bytes, linear between evaluations."""
    import numpy as np

    columns: list[np.ndarray] = [
        curve[name].to_numpy(float) for name in ("bytes_sent", "consensus_accuracy")
    ]
    return float(100 * np.interp(budget, *columns))
