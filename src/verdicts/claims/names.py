"""The check that the columns and tables which claims name are there.

The judge's own, of tables that it has read; ``contents`` checks their rows. The pipeline checks the
same before there are tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from verdicts.claims.claim import Claim, ClaimsFile, Gate
from verdicts.claims.entries import mapping
from verdicts.claims.units import check_margins, measured_column
from verdicts.quantity_registry import QUANTITIES
from verdicts.registry import UserError, nearest, shown, unknown
from verdicts.rows.run_values import as_numbers, column_of, parsed
from verdicts.rows.selection import SETTING, Folder, Selection, distinct, matches, no_seed, no_table

OWN = "verdicts."
"""How the modules of the judge's quantities start: each of these needs the column ``seed``."""


def check_names(claims: ClaimsFile, tables: Folder, *, strict: bool = False) -> None:
    """Raise a one-line UserError for the first name that the tables lack.

    That is a column that a claim or its gates name, and with ``strict`` a table, too: without it,
    the claim is not run. So is a text that no row has in its column of text. The same for a range
    of a column with text. Optional claims are not checked.
    """
    for claim in claims.claims.values():
        if claims.is_optional(claim.id) or claim.is_pooled:
            continue
        key = f"claims.{claim.id}"
        entries: dict[str, Claim | Gate] = {key: claim}
        entries |= {f"gates.{each}": claims.gates[each] for each in claim.gates}
        if claim.universes is not None and claim.universes.gate is not None:
            entries[f"{key}.universes.gate"] = claim.universes.gate
        for place, entry in entries.items():
            names = entry.tables or claim.tables
            absent = [name for name in names if name not in tables]
            if absent and strict:
                raise UserError(f"{place}.from: {no_table(absent[0], tables)}")
            if not absent:
                _Names(tables, names, strict=strict).check(place, entry)


class _Names:
    """The columns of the tables that a claim or a gate reads."""

    def __init__(self, tables: Folder, names: tuple[str, ...], *, strict: bool) -> None:
        self.strict = strict
        self.tables = {tables.files[name]: tables[name] for name in names}
        every = (str(each) for part in self.tables.values() for each in part)
        self.columns = list(dict.fromkeys(every))

    def check(self, key: str, entry: Claim | Gate) -> None:
        self.selection(f"{key}.where", entry.where)
        if isinstance(entry, Gate):
            if entry.column is not None:
                self.column(f"{key}.column", entry.column)
        else:
            for name, cell in entry.cells.items():
                self.selection(f"{key}.cells.{name}", cell.where)
            for setting in (entry.universes and entry.universes.settings) or ():
                self.column(f"{key}.universes.settings", f"{SETTING}{setting}")
        if entry.quantity is None:
            return
        for place, where in selections(key, entry):
            self.selection(place, where)
        quantity = QUANTITIES[entry.quantity]
        for name, value in quantity.given("Value", entry.arguments):
            self.value(f"{key}.with.{name}", value)
        for place, column in named_columns(key, entry):
            self.column(place, column)
        paired = QUANTITIES.definitions.get(entry.quantity, "").startswith(OWN)
        if paired and not quantity.cases and "seed" not in self.columns:
            file, rows = next(iter(self.tables.items()))
            raise UserError(f"{file}: {no_seed(rows)}")
        if isinstance(entry, Claim) and not entry.unit:
            self.shares(key, entry)

    def selection(self, key: str, where: Selection) -> None:
        for name, wanted in where.items():
            self.column(key, name)
            if isinstance(wanted, Mapping):
                for file, rows in self.tables.items():
                    if name in rows:
                        as_numbers(rows[name], f"{file}: {name}")
            elif self.strict:
                self.texts(key, name, wanted if isinstance(wanted, list) else [wanted])

    def column(self, key: str, name: object) -> None:
        if name not in self.columns:
            raise unknown(key, name, self.columns)

    def value(self, key: str, value: object) -> None:
        """A number of a run: a column, a registered value, or a mapping of one name."""
        if "run" not in self.columns and isinstance(value, str):
            self.column(key, value)
        try:
            parsed(value, self.columns)  # type: ignore[arg-type]  # it is checked
        except UserError as error:
            raise UserError(f"{key.rpartition('.')[0]}.{error}") from None
        if (column := _column_of(value, self.columns)) is not None:
            self.column(key, column)
        if "run" not in self.columns and not isinstance(value, str):
            raise UserError(f"{key}: {shown(value)} needs the column 'run', which is not there.")

    def texts(self, key: str, column: str, wanted: list[object]) -> None:
        """Raise a UserError for a text that no row has in a column of text."""
        import pandas as pd

        values = pd.concat([rows[column] for rows in self.tables.values() if column in rows])
        if values.dtype != object and not pd.api.types.is_string_dtype(values):
            return
        for each in wanted:
            if isinstance(each, str) and not matches(values, each).any():
                known = values.dropna().unique()
                raise UserError(
                    f"{key}: {column}: no row has {shown(each)}, only {distinct(values)}."
                    f"{nearest(each, known)}"
                )

    def shares(self, key: str, claim: Claim) -> None:
        """A column with accuracies of at most 1 is a share of 1; a unit would have said so."""
        import pandas as pd

        column = measured_column(claim, of_runs="run" in self.columns)
        if column is None or "accuracy" not in column:
            return
        values = (rows[column] for rows in self.tables.values() if column in rows)
        numbers = (pd.to_numeric(each, errors="coerce").dropna() for each in values)
        if all(each.between(0, 1).all() for each in numbers):
            check_margins(key, claim, column)


def value_columns(entry: Claim | Gate, columns: Collection[str]) -> list[str] | None:
    """The columns that a claim or a gate reads as numbers of runs; None if it reads no number of
    runs.

    ``columns`` are those of its tables. A registered value reads columns that are not known.
    """
    if entry.quantity is None:
        return [str(entry.column)]
    quantity = QUANTITIES[entry.quantity]
    found = [_column_of(value, columns) for _, value in quantity.given("Value", entry.arguments)]
    reads = any("Value" in kinds for kinds in quantity.kinds.values())
    return [each for each in found if each and each in columns] if reads else None


def _column_of(value: object, columns: Collection[str]) -> str | None:
    """The column that a value is read from; without runs, it is one."""
    if isinstance(value, str) and "run" not in columns:
        return value
    return column_of(value)  # type: ignore[arg-type]  # it is checked


def named_columns(key: str, entry: Claim | Gate) -> Iterator[tuple[str, object]]:
    """The columns among the arguments of a quantity, and their defaults, each with its place."""
    if entry.quantity is not None:
        for name, value in QUANTITIES[entry.quantity].given("Column", entry.arguments):
            for each in value if isinstance(value, list | tuple) else [value]:
                yield f"{key}.with.{name}", each


def selections(key: str, entry: Claim | Gate) -> Iterator[tuple[str, Selection]]:
    """The arguments of a quantity that select rows, each with its place; a term has a weight too.

    ``key`` is the place of the claim or gate. Raises a UserError for an argument of another type.
    """
    kinds = QUANTITIES[str(entry.quantity)].kinds
    for name, value in entry.arguments.items():
        place = f"{key}.with.{name}"
        for each in value if isinstance(value, list) else [value]:
            if "Selection" in kinds[name] and each is not None:
                fields = mapping(place, each).items()
                yield place, {column: wanted for column, wanted in fields if column != "weight"}
