"""The rows of the table of ``ngo theory``: their kinds in order, and the columns of each.

Light: claims name the columns before anything is measured. ``parts`` has the measurements, which
import torch, and ``ngo.analysis.quantities.theorems`` the quantities that judge them.
"""

from __future__ import annotations

from ngo.common.lazy import Table
from ngo.common.registry import UserError

DRAWN = "redrawn"
"""The topology of rows ``gaps`` on a random graph that is drawn in each step."""

TIMES = ("paper", "corrected", "sharp")
"""The forms of ``bounds.finite_time_bound``."""

KINDS = {
    kind: tuple(columns.split())
    for kind, columns in {
        "bounds": f"topology n p gamma draw V0 measured {' '.join(TIMES)}",
        "delays": "topology n p gamma tolerated limit limit_of_rounds residual floor",
        "gaps": "method n T gap bound printed V topology distance",
        "floors": "topology n p gamma dimension measured predicted",
        "decays": "topology n gamma measured limit",
        "means": "topology n draw measured",
        "orders": "seed n p time",
        "logs": "topology n p draw measured",
        "sums": "T a summed closed least",
        "speedup": "seed n T gap",
        "races": "method seed n T gap noise_term sync_term",
        "descents": "form n eta_L left right broken",
        "spreads": "form topology n gamma T V limit",
        "degrees": "topology n weights share gamma limit residual",
        "limits": "topology n step tolerated limit",
        "unit_steps": "topology n delay limit residual",
        "marginal": "topology n delay share residual",
        "random": "form n p gamma seed residual",
        "switches": "signal seed rate n limit",
        "failures": "topology n p loss residual without",
    }.items()
}
"""The columns of each kind, in the order of rows in shipped tables."""


def rows_of(table: Table, kind: str) -> Table:
    """The rows of ``kind`` with the columns that they have; a UserError if there are none."""
    rows = table[table["kind"] == kind] if "kind" in table else table.iloc[:0]
    if rows.empty:
        raise UserError(f"kind: the theory table has no rows of kind {kind!r}; measure it again.")
    return rows.drop(columns="kind").dropna(axis=1, how="all").reset_index(drop=True)
