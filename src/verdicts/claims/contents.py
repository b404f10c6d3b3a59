"""The check of the rows that claims read: seeds and steps are whole numbers, no step is twice.

The judge's own, of tables that it has read, after ``names``. The rows are those that meet the
``where`` of a claim, or of its cell or gate, and of a side that its quantity compares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from verdicts.claims.claim import Claim, ClaimsFile, Gate
from verdicts.claims.names import OWN, named_columns, selections, value_columns
from verdicts.quantity_registry import QUANTITIES
from verdicts.registry import UserError, shown
from verdicts.rows.run_values import as_numbers
from verdicts.rows.selection import UNIVERSE, Folder, Selection, in_one_precision, matches
from verdicts.rows.tables import numbers_among

KEPT = (UNIVERSE, "run", "step", "seed", "diverged")
"""The columns that are checked beside those with a claim's numbers."""

LARGEST = 2**53
"""Floats from here on are whole, but not every whole number is one of them."""


def check_rows(claims: ClaimsFile, tables: Folder) -> None:
    """Raise a one-line UserError for the first row that is not what a claim reads it as.

    It names the file, the column and the row, counted below the header from 1. Texts that are
    numbers become numbers in the columns of ``tables`` that are a claim's value. Tables that are
    not there, and columns that a claim names and they lack, are the subject of ``names``.
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


Read = tuple[Claim | Gate, Sequence[str], list[Selection]]
"""A claim or a gate, the tables that it reads, and the filters that its rows meet."""


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
    return [each for each in found if each[1] and all(name in tables for name in each[1])]


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
    apart = [str(each) for _, each in named_columns("", entry)]
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
        own = [each for each in rows if each in (*numbers, *apart, *KEPT)]
        found = rows.loc[np.logical_or.reduce(of_sides), own]
        for column in sorted(numbers):
            as_numbers(found[column], f"{file}: {column}")
        for column, needed, check in (
            (along, True, _check_present),
            (UNIVERSE, over, _check_present),
            ("seed", paired, _check_whole),
            ("run", True, _check_present),
            ("step", "run" in known, _check_whole),
        ):
            if needed and column in known:
                check(found, column, file)
        for part, on_side in zip(parts, of_sides, strict=True):
            if on_side.any():
                part[file] = rows.loc[on_side, own]
                if compared and judges and "run" not in known:
                    _check_same(rows[on_side], file)
                if "run" in known and (paired or "step" in known):
                    _check_evaluations(part[file], rows, file)
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
    for column, wanted in (each for where in filters for each in where.items()):
        if column in rows:
            kept &= matches(rows[column], wanted)
        else:
            kept &= wanted is None or (isinstance(wanted, list) and None in wanted)
    return kept


def _check_present(rows: pd.DataFrame, column: str, file: str) -> None:
    lacking = rows[column].isna() if column in rows else pd.Series(True, rows.index)
    if lacking.any():
        raise UserError(f"{file}: row {_place(lacking) + 1} has no {column}.")


def _check_whole(rows: pd.DataFrame, column: str, file: str) -> None:
    """Check that a column has a whole number in each row."""
    _check_present(rows, column, file)
    if rows.empty:
        return
    values = rows[column]
    if values.dtype.kind in "iu":
        return
    numbers = pd.to_numeric(values, errors="coerce").astype(float)
    whole = (numbers % 1 == 0) & (numbers.abs() < LARGEST)
    if values.dtype.kind in "bmM":
        whole[:] = False
    if not whole.all():
        row = _place(~whole)
        found = f"{shown(values.astype(object)[row])} in row {row + 1}"
        below = " below 2^53" if numbers.abs()[row] >= LARGEST else ""
        raise UserError(f"{file}: {column}: {found} is not a whole number{below}.")


def _place(found: pd.Series) -> int:
    """The first row of a table for which it is true."""
    return int(found.index[int(found.to_numpy(bool).argmax())])


def _check_evaluations(rows: pd.DataFrame, table: pd.DataFrame, file: str) -> None:
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
    found = [part.assign(file=file) for file, part in parts.items()]
    rows = pd.concat(in_one_precision(found))
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
