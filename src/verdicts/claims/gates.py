"""Gates: conditions that runs must meet before they can decide a claim."""

from __future__ import annotations

import numpy as np

from verdicts.claims.claim import Gate
from verdicts.lazy import pd
from verdicts.quantity_registry import QUANTITIES
from verdicts.registry import UserError
from verdicts.run_values import as_numbers, last_evaluations, with_diverged, worst_of
from verdicts.statistics.estimates import exceeds
from verdicts.table import UNIVERSE, Tables, joined, matches, need, selected


def check_gate(gate: Gate, rows: pd.DataFrame, tables: Tables) -> None:
    """Raise a UserError, with the reason, if the runs do not pass the gate.

    ``rows`` are those of the claim (or of its cell), for a gate that names no tables. A missing
    value does not pass, and a diverged run has the worst value.
    """
    try:
        selection = selected(joined(tables, gate.tables) if gate.tables else rows, gate.where)
        value = _taken(gate, selection)
    except UserError as error:
        raise type(error)(f"gate {gate.name}: {error}") from None
    if not _passes(gate, value):
        limits = {"above": gate.above, "below": gate.below}
        wanted = [f"{side} {limit:g}" for side, limit in limits.items() if limit is not None]
        told = f"{gate.take} {gate.column or gate.quantity} is {value:.4g}"
        raise UserError(f"{gate.reason}: {told}, must be {' and '.join(wanted)}")


def passing(gate: Gate, rows: pd.DataFrame) -> set[object]:
    """The universes that pass a gate on a column: asked at once, for speed.

    ``check_gate`` decides on all others: with a gate on a quantity, or with a diverged run.
    """
    if gate.column is None or not {gate.column, *gate.where} <= set(rows):
        return set()
    for column, wanted in gate.where.items():
        rows = rows[matches(rows[column], wanted)]
    rows = last_evaluations(rows)
    if "diverged" in rows:
        rows = rows[~rows["diverged"].groupby(rows[UNIVERSE]).transform("any")]
    numbers = as_numbers(rows[gate.column], gate.column)
    return {
        universe
        for universe, values in numbers.groupby(rows[UNIVERSE])
        if _passes(gate, getattr(np, gate.take)(values.to_numpy()))
    }


def _passes(gate: Gate, value: float) -> bool:
    """NaN does not."""
    high = gate.above is None or exceeds(value, gate.above)
    return high and (gate.below is None or exceeds(-value, -gate.below))


def _taken(gate: Gate, rows: pd.DataFrame) -> float:
    if gate.quantity is not None:
        quantity = QUANTITIES[gate.quantity]
        result = quantity.function(rows, **gate.arguments)
        numbers = quantity.scores("quantity", result).numbers
    else:
        need(rows, [gate.column])
        last, column = last_evaluations(rows), str(gate.column)
        numbers = as_numbers(last[column], column)
        if column != "diverged":
            numbers = with_diverged(numbers, last, worst_of(column), column)
    values = numbers.to_numpy()
    if not len(values) or np.isnan(values).any():
        return float("nan")
    return float(getattr(np, gate.take)(values))
