"""The check that tables have the columns and values that claims name.

It is of tables that the judge has read. The pipeline checks names before there are tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from verdicts.claims.claim import Claim, ClaimsFile, Gate, selections
from verdicts.claims.units import check_shares
from verdicts.lazy import pd
from verdicts.quantity_registry import QUANTITIES
from verdicts.registry import UserError, one_of, shown
from verdicts.run_values import column_of, parsed
from verdicts.table import SETTING, Tables


def check_names(claims: ClaimsFile, tables: Tables) -> None:
    """Raise a one-line UserError for the first column or value that the tables lack.

    Claims that are optional, or whose table is not there, are not checked.
    """
    for claim in claims.claims.values():
        for place, entry in claims.conditions(claim).items():
            names = entry.tables or claim.tables
            if not claims.is_optional(claim.id) and all(name in tables for name in names):
                columns = dict.fromkeys(str(column) for name in names for column in tables[name])
                for at, column in _columns(place, entry, columns):
                    one_of(at, column, columns)
                if isinstance(entry, Claim):
                    shares = _shares([tables[name] for name in names])
                    check_shares(place, entry, shares, of_runs="run" in columns)


def _shares(tables: Sequence[pd.DataFrame]) -> set[str]:
    """The columns with accuracies of at most 1."""
    shares = set()
    for column in {str(name) for table in tables for name in table if "accuracy" in str(name)}:
        values = (pd.to_numeric(table[column], "coerce") for table in tables if column in table)
        if all(part.dropna().between(0, 1).all() for part in values):
            shares.add(column)
    return shares


def _columns(key: str, entry: Claim | Gate, known: Collection[str]) -> Iterator[tuple[str, object]]:
    """The columns that a claim or a gate names, each with its place.

    Raises a UserError for a number of a run that the ``known`` columns do not give.
    """
    selected = [(f"{key}.where", entry.where)]
    if isinstance(entry, Gate):
        if entry.column is not None:
            yield f"{key}.column", entry.column
    else:
        selected += [(f"{key}.cells.{name}", cell.where) for name, cell in entry.cells.items()]
        for setting in (entry.universes and entry.universes.settings) or ():
            yield f"{key}.universes.settings", f"{SETTING}{setting}"
    if entry.quantity is not None:
        quantity = QUANTITIES[entry.quantity]
        selected += selections(key, entry)
        for name, value in quantity.given("Value", entry.arguments):
            yield from _column_of(f"{key}.with.{name}", value, known)
        for name, value in quantity.given("Column", entry.arguments):
            for column in value if isinstance(value, list | tuple) else [value]:
                yield f"{key}.with.{name}", column
    for place, where in selected:
        for column in where:
            yield place, column


def _column_of(key: str, value: Any, known: Collection[str]) -> Iterator[tuple[str, object]]:
    """The column of a number of a run: a column, a registered value, or a mapping of one name."""
    of_runs = "run" in known
    if of_runs or not isinstance(value, str):
        try:
            parsed(value, known)
        except UserError as error:
            raise UserError(f"{key.rpartition('.')[0]}.{error}") from None
        if not of_runs:
            raise UserError(f"{key}: {shown(value)} needs the column 'run', which is not there.")
    if (column := column_of(value, of_runs=of_runs)) is not None:
        yield key, column
