"""The rows of tidy tables that a claim is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from verdicts.registry import UserError, nearest

if TYPE_CHECKING:  # claims files are read without pandas
    import pandas as pd

Selection = Mapping[str, object]
"""Rows of a table: the value, values (a list) or range (``min``, ``max``) of each column."""

Column = str
"""The name of a column of a table."""

Tables = Mapping[str, "pd.DataFrame"]
"""Tidy tables by name."""

UNIVERSE = "universe"
"""The column with the universe of a row."""


def joined(tables: Tables, names: tuple[str, ...]) -> pd.DataFrame:
    """The rows of all named tables, each evaluation of a run once, or once in each universe.

    Raises a UserError if there is no table of a name.
    """
    for name in names:
        if name not in tables:
            raise UserError(f"there is no table {name!r}.")
    import pandas as pd

    parts = [tables[name] for name in names]
    if len(parts) == 1:
        return parts[0]
    columns = dict.fromkeys(name for part in parts for name in part)
    rows = pd.concat([part.dropna(axis=1, how="all") for part in parts], ignore_index=True)
    rows = rows.reindex(columns=list(columns))
    if {"run", "step"} <= set(rows):
        same = [name for name in (UNIVERSE, "run", "step") if name in rows]
        rows = rows.drop_duplicates(same, ignore_index=True)
    return rows


def selected(rows: pd.DataFrame, where: Selection) -> pd.DataFrame:
    """The rows that meet all conditions; a UserError, with the reason, if there are none."""
    import pandas as pd

    kept = pd.Series(True, index=rows.index)
    for column, wanted in where.items():
        if column not in rows:
            raise UserError(f"there is no column {column!r}.{nearest(column, rows)}")
        met = matches(rows[column], wanted)
        if not met.any():
            raise UserError(_absent(column, wanted, rows[column]))
        kept &= met
    if not kept.any():
        pairs = ", ".join(f"{column} {_said(wanted)}" for column, wanted in where.items())
        raise UserError(f"no runs with {pairs}" if pairs else "the table is empty")
    return rows[kept]


def matches(values: pd.Series, wanted: object) -> pd.Series:
    """Whether each value meets a condition: the value, one of the values, or in the range.

    In a column of numbers, text that is a number means that number: YAML reads ``1e-3`` as text.
    """
    from pandas.api.types import is_numeric_dtype

    if isinstance(wanted, Mapping):
        low, high = wanted.get("min", -float("inf")), wanted.get("max", float("inf"))
        return values.between(low, high)
    wanted = wanted if isinstance(wanted, list) else [wanted]
    if is_numeric_dtype(values):
        wanted = [_number(each) if isinstance(each, str) else each for each in wanted]
    met = values.isin([each for each in wanted if each is not None])
    return met | values.isna() if None in wanted else met


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _absent(column: str, wanted: object, values: pd.Series) -> str:
    """Why no row has the wanted value."""
    if column == "dataset":
        return f"not trained on {_said(wanted)}, but on {_found(values)}"
    return f"no rows with {column} {_said(wanted)}, only {_found(values)}"


def _said(wanted: object) -> str:
    if isinstance(wanted, Mapping):
        return " ".join(f"{end} {limit}" for end, limit in wanted.items())
    wanted = wanted if isinstance(wanted, list) else [wanted]
    return " or ".join("none" if each is None else str(each) for each in wanted)


def _found(values: pd.Series) -> str:
    """The distinct values, the first few of them."""
    found = sorted(str(each) for each in values.dropna().unique())
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return (", ".join(found[:5]) or "without one") + more
