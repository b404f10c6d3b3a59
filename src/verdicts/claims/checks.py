"""The checks of tables against claims: named columns are there, seeds and steps are whole numbers.

They are the judge's own, of tables that it has read. The pipeline checks names before there are
tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from verdicts.claims.claim import Claim, ClaimsFile, Gate, selections
from verdicts.claims.units import check_margins, measured_column
from verdicts.claims.unpaired import may_be_unpaired
from verdicts.quantity_registry import QUANTITIES
from verdicts.registry import UserError, nearest, shown, unknown
from verdicts.rows.evaluations import as_numbers, column_of, parsed
from verdicts.rows.selection import (
    SETTING,
    UNIVERSE,
    Folder,
    Selection,
    distinct,
    matches,
    no_seed,
    no_table,
)
from verdicts.rows.tables import numbers_among

#: How the modules of the judge's quantities start: each of these needs the column ``seed``.
OWN = "verdicts."


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
        entries |= {f"gates.{gate}": claims.gates[gate] for gate in claim.gates}
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
        every = (str(column) for part in self.tables.values() for column in part)
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
        unpaired = isinstance(entry, Claim) and may_be_unpaired(entry, self.columns)
        if paired and not (quantity.cases or unpaired) and "seed" not in self.columns:
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
        of_runs = "run" in self.columns
        if not of_runs and isinstance(value, str):
            self.column(key, value)
        try:
            parsed(value, self.columns)  # type: ignore[arg-type]  # it is checked
        except UserError as error:
            raise UserError(f"{key.rpartition('.')[0]}.{error}") from None
        if (column := column_of(value, of_runs=of_runs)) is not None:  # type: ignore[arg-type]
            self.column(key, column)
        if not of_runs and not isinstance(value, str):
            raise UserError(f"{key}: {shown(value)} needs the column 'run', which is not there.")

    def texts(self, key: str, column: str, wanted: list[object]) -> None:
        """Raise a UserError for a text that no row has in a column of text."""
        values = pd.concat([rows[column] for rows in self.tables.values() if column in rows])
        if values.dtype != object and not pd.api.types.is_string_dtype(values):
            return
        for text in wanted:
            if isinstance(text, str) and not matches(values, text).any():
                known = values.dropna().unique()
                raise UserError(
                    f"{key}: {column}: no row has {shown(text)}, only {distinct(values)}."
                    f"{nearest(text, known)}"
                )

    def shares(self, key: str, claim: Claim) -> None:
        """A column with accuracies of at most 1 is a share of 1; a unit would have said so."""
        column = measured_column(claim, of_runs="run" in self.columns)
        if column is None or "accuracy" not in column:
            return
        values = (rows[column] for rows in self.tables.values() if column in rows)
        numbers = (pd.to_numeric(part, errors="coerce").dropna() for part in values)
        if all(part.between(0, 1).all() for part in numbers):
            check_margins(key, claim, column)


def value_columns(entry: Claim | Gate, columns: Collection[str]) -> list[str] | None:
    """The columns that a claim or a gate reads as numbers of runs; None if it reads no number of
    runs.

    ``columns`` are those of its tables. A registered value reads columns that are not known.
    """
    if entry.quantity is None:
        return [str(entry.column)]
    quantity = QUANTITIES[entry.quantity]
    if not any("Value" in kinds for kinds in quantity.kinds.values()):
        return None
    values: list[Any] = [value for _, value in quantity.given("Value", entry.arguments)]
    found = [column_of(value, of_runs="run" in columns) for value in values]
    return [column for column in found if column and column in columns]


def named_columns(key: str, entry: Claim | Gate) -> Iterator[tuple[str, object]]:
    """The columns among the arguments of a quantity, and their defaults, each with its place."""
    if entry.quantity is not None:
        for name, value in QUANTITIES[entry.quantity].given("Column", entry.arguments):
            for column in value if isinstance(value, list | tuple) else [value]:
                yield f"{key}.with.{name}", column


#: The columns that are checked beside those with a claim's numbers.
KEPT = (UNIVERSE, "run", "step", "seed", "diverged")


def check_rows(claims: ClaimsFile, tables: Folder) -> None:
    """Raise a one-line UserError for the first row that is not what a claim reads it as.

    It names the file, the column and the row, counted below the header from 1. Texts that are
    numbers become numbers in the columns of ``tables`` that are a claim's value. Tables that are
    not there, and columns that a claim names and they lack, are the subject of ``check_names``.
    """
    checked = set()
    for claim in claims.claims.values():
        for entry, names, filters in _reads(claim, claims, tables):
            over = claim.universes is not None and not (isinstance(entry, Gate) and entry.tables)
            column = entry.column if isinstance(entry, Gate) else ""
            read = repr((names, filters, over, column, entry.quantity, entry.arguments))
            if read not in checked:
                checked.add(read)
                _check(entry, names, filters, tables, over=over)


#: A claim or a gate, the tables that it reads, and the filters that its rows meet.
Read = tuple[Claim | Gate, Sequence[str], list[Selection]]


def _reads(claim: Claim, claims: ClaimsFile, tables: Folder) -> list[Read]:
    """What a claim and its gates read, of which there are tables."""
    own = [*claim.tables, *([claim.added] if claim.looks and claim.added in tables else [])]
    found: list[Read] = []
    for where in (claim.where, *({**claim.where, **cell.where} for cell in claim.cells.values())):
        found.append((claim, own, [where]))
        for gate in (claims.gates[name] for name in claim.gates):
            filters = [gate.where] if gate.tables else [where, gate.where]
            found.append((gate, gate.tables or own, filters))
    if claim.universes is not None and claim.universes.gate is not None:
        found.append((claim.universes.gate, own, [claim.universes.gate.where]))
    return [read for read in found if read[1] and all(name in tables for name in read[1])]


def _check(
    entry: Claim | Gate,
    names: Sequence[str],
    filters: Sequence[Selection],
    tables: Folder,
    *,
    over: bool,
) -> None:
    """Check the rows that meet all ``filters`` and are on a side of a comparison.

    ``over``: rows are those of universes.
    """
    known = {str(column) for name in names for column in tables[name]}
    if (read := value_columns(entry, known)) is None:
        return
    paired, along = entry.quantity is not None, str(entry.arguments.get("along", ""))
    # Columns whose values tell the sides apart.
    apart = [str(column) for _, column in named_columns("", entry)]
    compared = [side for _, side in selections("", entry)] if paired else []
    sides = compared or [{}]
    judges = QUANTITIES.definitions.get(str(entry.quantity), "").startswith(OWN)
    parts: list[dict[str, pd.DataFrame]] = [{} for _ in sides]
    for name in names:
        rows, file = tables[name], tables.files[name]
        numbers = {*read, along} & set(rows)
        for column in numbers:
            rows[column] = numbers_among(rows[column])
        kept = _meeting(rows, filters)
        of_sides = [kept & _meeting(rows, [side]) for side in sides]
        own = [column for column in rows if column in (*numbers, *apart, *KEPT)]
        found = rows.loc[np.logical_or.reduce(of_sides), own]
        for column in sorted(numbers):
            as_numbers(found[column], f"{file}: {column}")
        for column, needed, check in (
            (along, True, _check_present),
            (UNIVERSE, over, _check_present),
            ("seed", paired, check_whole),
            ("run", True, _check_present),
            ("step", "run" in known, check_whole),
        ):
            if needed and column in known:
                check(found, column, file)
        for part, on_side in zip(parts, of_sides, strict=True):
            if on_side.any():
                part[file] = rows.loc[on_side, own]
                if compared and judges and "run" not in known and "seed" in known:
                    _check_same(rows[on_side], file)
                if "run" in known and (paired or "step" in known):
                    check_evaluations(part[file], rows, file)
    for part in parts:
        if len(part) > 1 and {"run", "step"} <= known:
            _check_agreement(part, [*read, *apart])
    if len(names) > 1:
        files = {tables.files[name]: tables[name] for name in names}
        selecting = {column for where in (*filters, *sides) for column in where}
        _check_kinds(files, [*sorted({*apart, *selecting}), "run"])


def _meeting(rows: pd.DataFrame, filters: Sequence[Selection]) -> pd.Series:
    """Whether each row meets all conditions; a column that is not there is empty."""
    kept = pd.Series(True, index=rows.index)
    for column, wanted in (condition for where in filters for condition in where.items()):
        if column in rows:
            kept &= matches(rows[column], wanted)
        else:
            kept &= wanted is None or (isinstance(wanted, list) and None in wanted)
    return kept


def _check_present(rows: pd.DataFrame, column: str, file: str) -> None:
    lacking = rows[column].isna() if column in rows else pd.Series(True, rows.index)
    if lacking.any():
        raise UserError(f"{file}: row {_place(lacking) + 1} has no {column}.")


def check_whole(rows: pd.DataFrame, column: str, file: str) -> None:
    """Check that a column has a whole number in each row."""
    _check_present(rows, column, file)
    if rows.empty:
        return
    values = rows[column]
    if values.dtype.kind in "iu":
        return
    numbers = pd.to_numeric(values, errors="coerce").astype(float)
    whole = numbers % 1 == 0
    if values.dtype.kind in "bmM":
        whole[:] = False
    if not whole.all():
        row = _place(~whole)
        value = shown(values.astype(object)[row])
        raise UserError(f"{file}: {column}: {value} in row {row + 1} is not a whole number.")


def _place(found: pd.Series) -> int:
    """The first row of a table for which it is true."""
    return int(found.index[int(found.to_numpy(bool).argmax())])


def check_evaluations(rows: pd.DataFrame, table: pd.DataFrame, file: str) -> None:
    """Check that no two rows of a table are of one run and step, and that each run has one seed."""
    own = [name for name in (UNIVERSE, "run") if name in rows]
    step = ["step"] if "step" in rows else []
    if (pair := _first_two(rows, [*own, *step])) is not None:
        at = f" at step {pair['step'].iloc[0]}" if step else ""
        differing = _differing(table.loc[pair.index])[:3]
        how = f" and differ in {', '.join(differing)}" if differing else ""
        also = "" if step else ", and each row a step"
        raise UserError(
            f"{file}: rows {_places(pair)} are both of run {shown(pair['run'].iloc[0])}{at}{how}; "
            f"keep one of them, or give each run its own name{also}."
        )
    seeded = rows.drop_duplicates([*own, "seed"]) if "seed" in rows else rows[:0]
    if (pair := _first_two(seeded, own)) is not None:
        seeds = " and ".join(str(seed) for seed in pair["seed"])
        run = shown(pair["run"].iloc[0])
        raise UserError(f"{file}: run {run} has the seeds {seeds}; give each run its own name.")


def _check_same(rows: pd.DataFrame, file: str) -> None:
    """Check that no two rows are the same."""
    if (pair := _first_two(rows, [str(name) for name in rows])) is not None:
        raise UserError(f"{file}: rows {_places(pair)} are the same; remove one.")


def _check_agreement(parts: Mapping[str, pd.DataFrame], columns: Sequence[str]) -> None:
    """Check that tables which have the same evaluation have the same values of it."""
    rows = pd.concat([part.assign(file=file) for file, part in parts.items()])
    own = [name for name in (UNIVERSE, "run", "step") if name in rows]
    values = [name for name in dict.fromkeys((*columns, "seed", "diverged")) if name in rows]
    pair = _first_two(rows.drop_duplicates([*own, *values]), own)
    if pair is not None:
        run, step = pair.iloc[0][["run", "step"]]
        raise UserError(
            f"{' and '.join(pair['file'])}: run {shown(run)} at step {step} differs in "
            f"{', '.join(_differing(pair[values]))}; keep one of them."
        )


def _check_kinds(tables: Mapping[str, pd.DataFrame], columns: Sequence[str]) -> None:
    """Check that a column has numbers in all tables, or in none: 1 is not the text 1."""
    for column in columns:
        kinds = {
            is_numeric_dtype(rows[column]): file
            for file, rows in tables.items()
            if column in rows and rows[column].notna().any()
        }
        if len(kinds) > 1:
            raise UserError(f"{column}: {kinds[True]} has numbers, and {kinds[False]} has text.")


def _first_two(rows: pd.DataFrame, key: list[str]) -> pd.DataFrame | None:
    """The first two rows with one key; None if there are no two."""
    same = rows[rows.duplicated(key, keep=False)]
    if same.empty:
        return None
    return next(iter(same.groupby(key, dropna=False, sort=False)))[1].iloc[:2]


def _places(pair: pd.DataFrame) -> str:
    return " and ".join(str(place + 1) for place in pair.index)


def _differing(pair: pd.DataFrame) -> list[str]:
    return [str(name) for name in pair if len(pair[name].drop_duplicates()) > 1]
