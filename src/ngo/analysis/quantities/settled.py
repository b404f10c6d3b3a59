"""Rounds without learning: one way to mix compared with another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdicts.quantity_registry import quantity

if TYPE_CHECKING:
    import pandas as pd

    from ngo.analysis.mixers import Mixer
    from verdicts.rows.selection import Column


@quantity("settled_ratio", unit="log ratio", example="{of: NGO, value: V_early}")
def settled_ratio(
    rows: pd.DataFrame, of: Mixer, minus: Mixer = "linear", value: Column = "V_settled"
) -> pd.Series:
    """The log V of the mixer ``of`` − that of ``minus``, each at its own best p and γ, by seed.

    The best are found on half of the seeds, and the others compared (``mixers.best_rows``). A mean
    over the situations (disturbance, strength, topology) in which both were measured.
    """
    import numpy as np

    from ngo.analysis.mixers import SITUATION, best_rows, ends, with_mixers
    from ngo.common.registry import UserError

    chosen = ends(best_rows(with_mixers(rows), value)).set_index([*SITUATION, "seed"])
    logs = np.log(chosen[value].astype(float).fillna(np.inf))  # ∞ − ∞ is NaN: it diverged
    sides = [logs[chosen["mixer"] == name] for name in (of, minus)]
    for name, side in zip((of, minus), sides, strict=True):
        if side.empty:
            raise UserError(f"settled_ratio: no rows of mixer {name!r}.")
    both = sides[0].eq(np.inf) & sides[1].eq(np.inf)  # both diverged: neither is better
    difference = sides[0].sub(sides[1]).mask(both, 0.0)
    return difference.unstack("seed").dropna(how="all").mean(skipna=False).rename_axis("seed")
