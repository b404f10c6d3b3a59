"""What tables must have, and what runs must meet, before they can decide a claim.

The columns and values that claims name are there (the pipeline checks names before there are
tables); margins fit the units of numbers; and runs pass the gates.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from verdicts import run_values
from verdicts.claims.claim import Claim, ClaimsFile, Gate, selections
from verdicts.lazy import pd
from verdicts.quantities import OF_VALUE, QUANTITIES
from verdicts.registry import UserError, one_of, shown
from verdicts.run_values import SHARE, UNITS, Value, as_numbers, column_of, last_evaluations
from verdicts.statistics.samples import exceeds
from verdicts.table import UNIVERSE, Column, Selection, Tables, joined, need, selected

#: Where the scales of units end.
SCALES = {SHARE: (0.0, 1.0), "points": (0.0, 100.0)}

#: Names of columns that may be shares of 1.
ACCURACIES = r"accuracy|(^|[\W_])(acc|auc|auroc|f1)([\W_]|$)"

#: The least margin that is taken for points if a claim is about a share of 1.
LEAST = 0.1


def known_unit(claim: Claim, claims: Mapping[str, Claim], *, of_runs: bool = True) -> str:
    """The unit that the claim states, or else the one that follows; empty if none is known.

    Without ``of_runs``, its table has no column ``run``: values are columns.
    """
    if claim.unit:
        return claim.unit
    if claim.is_pooled:
        return known_unit(claims[claim.pooled[0]], claims, of_runs=of_runs)
    quantity = QUANTITIES[claim.quantity]
    if not quantity.unit.startswith(OF_VALUE):
        return quantity.unit
    value = quantity.value(claim.arguments)
    unit = run_values.unit_of(value) if of_runs and value is not None else UNITS.get(str(value), "")
    if not unit or claim.arguments.get("log"):
        return ""
    along = claim.arguments.get("along")
    per = f"a factor e of {along}" if claim.arguments.get("log_along") else f"1 of {along}"
    rest = quantity.unit.removeprefix(OF_VALUE).replace("1 of the field", per)
    return unit + rest.replace(",", "")


def scale_of(claim: Claim, *, of_runs: bool = True) -> tuple[float, float] | None:
    """Where the scale of a claim's number ends, if it is a level of a known unit; None if not."""
    if claim.quantity != "level":
        return None
    return SCALES.get(known_unit(replace(claim, unit=""), {}, of_runs=of_runs))


def check_shares(
    key: str, claim: Claim, scales: Mapping[str, float] | None = None, *, of_runs: bool = True
) -> None:
    """Raise a UserError for a margin or a value in points about a column that is a share of 1.

    Points are a margin of ``LEAST`` or more, and a level or difference above 1. A level between 0
    and 1 of a column in percent is refused, too. ``scales``: where those of columns end, beside
    shares that are known. ``of_runs``: see ``known_unit``.
    """
    quantity = QUANTITIES[claim.quantity]
    value = quantity.value(claim.arguments)
    if value is None or claim.arguments.get("log") or not quantity.unit.startswith(OF_VALUE):
        return
    column = column_of(value, of_runs=of_runs)
    end = 1.0 if UNITS.get(str(column)) == SHARE else (scales or {}).get(str(column))
    expectations = {f"{key}.cells.{name}": cell.expectation for name, cell in claim.cells.items()}
    for place, of in {key: claim.expectation, **expectations}.items():
        given = {"margin": of.margin or 0.0, of.relation: of.value} if of else {}
        for name, number in given.items():
            is_far = abs(number) > 1 and claim.quantity in ("level", "difference")
            if end == 100 and claim.quantity == "level" and name != "margin" and 0 < number < 1:
                told = f"{column!r} is in percent; {number:g} is {100 * number:g} there"
                raise UserError(f"{place}.{name}: {number:g} is not allowed, {told}.")
            if end == 1 and (is_far or (name == "margin" and number >= LEAST)):
                told = f"it would be {100 * number:g} points: {column!r} is a {SHARE}"
                told += f"; {number:g} points are {number / 100:g}"
                raise UserError(f"{place}.{name}: {number:g} is not allowed, {told}.")


def check_names(claims: ClaimsFile, tables: Tables) -> None:
    """Raise a one-line UserError for the first column or value that the tables lack.

    Claims that are optional, or whose table is not there, are not checked.
    """
    for claim in claims.claims.values():
        for place, entry in claims.conditions(claim).items():
            names = entry.tables or claim.tables
            if not claims.is_optional(claim.id) and all(name in tables for name in names):
                columns = dict.fromkeys(str(column) for name in names for column in tables[name])
                for at, column in named_columns(place, entry, columns):
                    one_of(at, column, columns)
                if isinstance(entry, Claim):
                    scales = _scales([tables[name] for name in names])
                    check_shares(place, entry, scales, of_runs="run" in columns)


def _scales(tables: Sequence[pd.DataFrame]) -> dict[str, float]:
    """Where the scales of accuracies, AUC and F1 end: 1 or 100."""
    ends, names = {}, {str(name) for table in tables for name in table}
    for column in filter(re.compile(ACCURACIES, re.IGNORECASE).search, names):
        parts = [pd.to_numeric(table[column], "coerce") for table in tables if column in table]
        if (values := pd.concat(parts).dropna()).between(0, 100).all():
            ends[column] = 1.0 if (values <= 1).all() else 100.0
    return ends


def named_columns(
    key: str, entry: Claim | Gate, known: Collection[str]
) -> Iterator[tuple[str, object]]:
    """The columns that a claim or a gate names, each with its place.

    Raises a UserError for a number of a run that the ``known`` columns do not give.
    """
    for place, where in selected_rows(key, entry):
        yield from ((place, name) for name in where)
    if isinstance(entry, Claim):
        for setting in entry.universes.columns if entry.universes else ():
            yield f"{key}.universes.settings", setting
    elif entry.column is not None:
        yield f"{key}.column", entry.column
    if entry.quantity is not None:
        quantity = QUANTITIES[entry.quantity]
        for name, value in quantity.given(Value, entry.arguments):
            yield from _column_of(f"{key}.with.{name}", value, known)
        for name, value in quantity.given(Column, entry.arguments):
            for column in value if isinstance(value, list | tuple) else [value]:
                yield f"{key}.with.{name}", column


def selected_rows(key: str, entry: Claim | Gate) -> Iterator[tuple[str, Selection]]:
    """All selections of a claim or a gate: its rows, those of cells, those of arguments."""
    yield f"{key}.where", entry.where
    if isinstance(entry, Claim):
        for name, cell in entry.cells.items():
            yield f"{key}.cells.{name}", cell.where
    if entry.quantity is not None:
        yield from selections(key, entry)


def _column_of(key: str, value: Any, known: Collection[str]) -> Iterator[tuple[str, object]]:
    """The column of a number of a run: a column, a registered value, or a mapping of one name."""
    of_runs = "run" in known
    if of_runs or not isinstance(value, str):
        try:
            run_values.parsed(value, known)
        except UserError as error:
            raise UserError(f"{key.rpartition('.')[0]}.{error}") from None
        if not of_runs:
            raise UserError(f"{key}: {shown(value)} needs the column 'run', which is not there.")
    if (column := column_of(value, of_runs=of_runs)) is not None:
        yield key, column


def check_gate(gate: Gate, rows: pd.DataFrame, tables: Tables) -> None:
    """Raise a UserError, with the reason, if the runs do not pass the gate.

    ``rows`` are those of the claim (or of its cell), for a gate that names no tables. A missing
    value does not pass, and a diverged run has the worst value.
    """
    try:
        selection = selected(joined(tables, gate.tables) if gate.tables else rows, gate.where)
        value = _taken(gate, _numbers(gate, selection))
    except UserError as error:
        raise type(error)(f"gate {gate.name}: {error}") from None
    if not _passes(gate, value):
        limits = {"above": gate.above, "below": gate.below}
        wanted = [f"{side} {limit:g}" for side, limit in limits.items() if limit is not None]
        told = f"{gate.take} {gate.column or gate.quantity} is {value:.4g}"
        raise UserError(f"{gate.reason}: {told}, must be {' and '.join(wanted)}")


def passing(gate: Gate, rows: pd.DataFrame) -> set[object]:
    """The universes that pass a gate on a column: asked at once, for speed.

    ``check_gate`` decides on all others: those that fail, and with a gate on a quantity.
    """
    if gate.column is None:
        return set()
    try:
        numbers = _numbers(gate, selected(rows, gate.where))
    except UserError:  # some universe lacks what the gate needs
        return set()
    universes = numbers.groupby(rows[UNIVERSE])
    return {universe for universe, of in universes if _passes(gate, _taken(gate, of))}


def _passes(gate: Gate, value: float) -> bool:
    """NaN does not."""
    low, high = gate.above, gate.below
    return (low is None or exceeds(value, low)) and (high is None or exceeds(-value, -high))


def _numbers(gate: Gate, rows: pd.DataFrame) -> pd.Series:
    """The quantity of each seed, or the column at the end of each run."""
    if gate.quantity:
        quantity = QUANTITIES[gate.quantity]
        result = quantity.function(rows, **gate.arguments)
        return quantity.scores("quantity", result).numbers
    need(rows, [gate.column])
    column, last = str(gate.column), last_evaluations(rows)
    numbers = as_numbers(last[column], column)
    if column == "diverged":
        return numbers
    return run_values.with_diverged(numbers, last, run_values.worst_of(column), column)


def _taken(gate: Gate, numbers: pd.Series) -> float:
    return float(getattr(np, gate.take)(numbers.to_numpy())) if len(numbers) else np.nan
