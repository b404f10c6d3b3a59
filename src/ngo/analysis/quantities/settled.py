"""Rounds without learning: one way to mix compared with another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.common.types import Numbers, Table
from verdicts.quantity_registry import quantity
from verdicts.rows.selection import Column

if TYPE_CHECKING:
    from ngo.analysis.mixers import Mixer


@quantity("settled_ratio", unit="log ratio", example="{of: NGO, value: V_early}")
def settled_ratio(
    rows: Table, of: Mixer, minus: Mixer = "linear", value: Column = "V_settled"
) -> Numbers:
    """The log V of the mixer ``of`` − that of ``minus``, each at its own best p and γ, by seed.

    The best are found on half of the seeds, and the others compared (``mixers.best_rows``). A mean
    over the situations (disturbance, strength, topology) in which both were measured. A seed in
    which one side diverged is ±inf, against it; one in which both did has no number.
    """
    import numpy as np

    from ngo.analysis.mixers import SITUATION, best_rows, ends, with_mixers
    from ngo.common.registry import UserError
    from verdicts.rows.seed_values import mean_over

    chosen = ends(best_rows(with_mixers(rows), value)).set_index([*SITUATION, "seed"])
    logs = np.log(chosen[value].astype(float).fillna(np.inf))  # it diverged
    sides = [logs[chosen["mixer"] == name] for name in (of, minus)]
    for name, side in zip((of, minus), sides, strict=True):
        if side.empty:
            raise UserError(f"settled_ratio: no rows of mixer {name!r}.")
    one, other = sides[0].align(sides[1], join="inner")
    return mean_over(one.sub(other).unstack("seed").T)
