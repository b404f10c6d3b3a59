"""The rows of tidy tables that a claim is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from verdicts.lazy import pd
from verdicts.registry import TableError, UserError, nearest, shown

#: Rows of a table: the value, values (a list) or range (``min``, ``max``) of each column.
Selection = Annotated[Mapping[str, object], "rows"]

#: The name of a column of a table.
Column = Annotated[str, "column"]

#: Tidy tables by name.
Tables = Mapping[str, "pd.DataFrame"]

#: The column with the universe of a row.
UNIVERSE = "universe"

#: How the names of the columns with settings start.
SETTING = "universe_"


class Folder(dict[str, "pd.DataFrame"]):
    """Tables of a folder, by name; ``files`` are the names of all files with tables in it."""

    def __init__(self, files: Mapping[str, str]) -> None:
        super().__init__()
        self.files = files


def no_table(name: str, tables: Tables) -> str:
    """That a table is not there; with what is, and the nearest match, if that is known."""
    known = sorted(tables.files) if isinstance(tables, Folder) else []
    only = f", only {', '.join(known)}" if known else ""
    return f"there is no table {shown(name)}{only}.{nearest(name, known)}"


def need(rows: pd.DataFrame, names: Iterable[object], key: str = "") -> None:
    """Raise a UserError for the first column that the rows lack."""
    for name in names:
        if name not in rows:
            raise UserError(f"{key}there is no column {name!r}.{nearest(name, rows)}")


def complete(rows: pd.DataFrame, names: Iterable[str]) -> None:
    """Raise a TableError for the first of these columns that lacks a value."""
    for name in names:
        if rows[name].hasnans:
            raise TableError(f"a row has no {name}.")


def joined(tables: Tables, names: tuple[str, ...]) -> pd.DataFrame:
    """The rows of all named tables, each evaluation of a run once, or once in each universe.

    An evaluation that two tables share is a row with equal values in all columns that both have;
    rows that differ are both kept. The runs of a table without the column ``diverged`` have not
    diverged, beside one that has it. Raises a UserError if there is no table of a name.
    """
    for name in names:
        if name not in tables:
            raise UserError(no_table(name, tables))
    rows = tables[names[0]]
    for name in names[1:]:
        rows = _joined(rows, tables[name])
    return rows


def _joined(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    columns = list(dict.fromkeys([*one, *other]))
    both = [name for name in one if name in other]
    parts = [part.dropna(axis=1, how="all") for part in (one, other)]
    rows = pd.concat(parts, ignore_index=True).reindex(columns=columns)
    if "diverged" in rows:
        rows["diverged"] = rows["diverged"].eq(True)
    evaluation = [name for name in (UNIVERSE, "run", "step") if name in rows]
    alike = {"run", "step"} <= set(both) and (UNIVERSE in both or UNIVERSE not in rows)
    if alike and rows.duplicated(evaluation).any():
        rows = rows[~rows.duplicated(both)].reset_index(drop=True)
    return rows


def selected(rows: pd.DataFrame, where: Selection) -> pd.DataFrame:
    """The rows that meet all conditions; a UserError, with the reason, if there are none."""
    kept = pd.Series(True, index=rows.index)
    for column, wanted in where.items():
        need(rows, [column])
        met = matches(rows[column], wanted)
        if not met.any():
            raise UserError(_absent(column, wanted, rows))
        kept &= met
    if not kept.any():
        pairs = ", ".join(f"{column} {_said(wanted)}" for column, wanted in where.items())
        raise UserError(f"no runs with {pairs}" if pairs else "the table is empty")
    return rows[kept]


def matches(values: pd.Series, wanted: object) -> pd.Series:
    """Whether each value meets a condition: the value, one of the values, or in the range.

    In a column of numbers, text that is a number means that number: YAML reads ``1e-3`` as text.
    Numbers are compared in the column's precision; true and false are no numbers.
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if isinstance(wanted, Mapping):
        low, high = wanted.get("min", -float("inf")), wanted.get("max", float("inf"))
        if not is_numeric_dtype(values):
            raise UserError(f"{values.name}: it has text; {_said(wanted)} is for numbers.")
        return values.between(low, high)
    wanted = wanted if isinstance(wanted, list) else [wanted]
    given = [value for value in wanted if value is not None]
    truths = [value for value in given if isinstance(value, bool | np.bool_)]
    others = [value for value in given if not isinstance(value, bool | np.bool_)]
    if is_bool_dtype(values):
        met = values.isin(truths)
    elif is_numeric_dtype(values):
        numbers = [_number(value) if isinstance(value, str) else value for value in others]
        met = _one_of(values, numbers)
    else:
        met = values.isin(others)
        if values.dtype == object and any(value in (0, 1) for value in given):  # 1 == True
            is_truth = values.map(lambda value: isinstance(value, bool | np.bool_)).astype(bool)
            met = (met & ~is_truth) | (values.isin(truths) & is_truth)
    return met | values.isna() if None in wanted else met


def _one_of(values: pd.Series, wanted: Sequence[Any]) -> pd.Series:
    """Whether each number is one of those ``wanted``, whole numbers not by way of floats."""
    whole = [int(value) for value in wanted if isinstance(value, int | np.integer)]
    floats = [value for value in wanted if isinstance(value, float | np.floating)]
    if values.dtype.kind == "f":
        exact = [float(value) for value in whole if abs(value) < 2**1000 and float(value) == value]
        with np.errstate(over="ignore"):
            return values.isin(np.array([*exact, *floats]).astype(str(values.dtype).lower()))
    return values.isin(whole) | values.isin([int(value) for value in floats if value % 1 == 0])


def _number(text: str) -> float | str:
    """The number that a text is: as YAML writes it, but for 1e-3, which YAML reads as text."""
    if re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        return int(text)
    plain = re.fullmatch(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|\.?inf)", text, re.ASCII | re.I)
    return float(text.replace(".inf", "inf")) if plain else text


def _absent(column: str, wanted: object, rows: pd.DataFrame) -> str:
    """Why no row has the wanted value."""
    if column == "dataset" and {"run", "step"} <= set(rows):
        return f"not trained on {_said(wanted)}, but on {distinct(rows[column])}"
    return f"no rows with {column} {_said(wanted)}, only {distinct(rows[column])}"


def _said(wanted: object) -> str:
    if isinstance(wanted, Mapping):
        return " ".join(f"{end} {limit}" for end, limit in wanted.items())
    wanted = wanted if isinstance(wanted, list) else [wanted]
    return " or ".join("none" if value is None else str(value) for value in wanted)


def distinct(values: pd.Series) -> str:
    """The distinct values, the first few of them."""
    texts = sorted(str(value) for value in values.dropna().unique())
    more = f" and {len(texts) - 5} more" if len(texts) > 5 else ""
    return (", ".join(texts[:5]) or "without one") + more
