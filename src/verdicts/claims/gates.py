"""Gates: conditions that runs must meet before they can decide a claim."""

from __future__ import annotations

import numpy as np
import pandas as pd

from verdicts.claims.claim import Gate
from verdicts.quantity_registry import QUANTITIES
from verdicts.registry import UserError
from verdicts.rows.evaluations import last_evaluations
from verdicts.rows.selection import Tables, joined, selected


def check_gate(gate: Gate, rows: pd.DataFrame, tables: Tables) -> None:
    """Raise a UserError, with the reason, if the runs do not pass the gate.

    ``rows`` are those of the claim (or of its cell), for a gate that names no tables. A missing
    value does not pass.
    """
    try:
        found = selected(joined(tables, gate.tables) if gate.tables else rows, gate.where)
        value = _taken(gate, found)
    except UserError as error:
        raise UserError(f"gate {gate.name}: {error}") from None
    passed = not np.isnan(value)
    if gate.above is not None:
        passed = passed and value > gate.above
    if gate.below is not None:
        passed = passed and value < gate.below
    if not passed:
        wanted = [
            f"{side} {limit:g}"
            for side, limit in (("above", gate.above), ("below", gate.below))
            if limit is not None
        ]
        what = gate.column or gate.quantity
        raise UserError(
            f"{gate.reason}: {gate.take} {what} is {value:.4g}, must be {' and '.join(wanted)}"
        )


def _taken(gate: Gate, rows: pd.DataFrame) -> float:
    if gate.quantity is not None:
        quantity = QUANTITIES[gate.quantity]
        result = quantity.function(rows, **gate.arguments)
        values = quantity.per_seed("quantity", result).to_numpy()
    elif gate.column in rows:
        values = last_evaluations(rows)[gate.column].to_numpy(dtype=float)
    else:
        raise UserError(f"there is no column {gate.column!r}.")
    if not len(values) or np.isnan(values).any():
        return float("nan")
    return float(getattr(np, gate.take)(values))
