"""The rows of tidy tables that a claim is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from verdicts.registry import UserError, nearest, shown

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

SETTING = "universe_"
"""How the names of the columns with settings start."""


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


def no_seed(columns: Iterable[object]) -> str:
    """That a table with these columns has no seeds."""
    return f"there is no column 'seed', which pairs runs.{nearest('seed', columns)}"


def joined(tables: Tables, names: tuple[str, ...]) -> pd.DataFrame:
    """The rows of all named tables, each evaluation of a run once, or once in each universe.

    The runs of a table without the column ``diverged`` have not diverged, beside one that has it.
    Raises a UserError if there is no table of a name.
    """
    for name in names:
        if name not in tables:
            raise UserError(no_table(name, tables))
    import pandas as pd

    parts = [tables[name] for name in names]
    if len(parts) == 1:
        return parts[0]
    columns = dict.fromkeys(name for part in parts for name in part)
    rows = pd.concat([part.dropna(axis=1, how="all") for part in parts], ignore_index=True)
    rows = rows.reindex(columns=list(columns))
    if "diverged" in rows:
        rows["diverged"] = rows["diverged"].eq(True)
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
            raise UserError(_absent(column, wanted, rows))
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
        if not is_numeric_dtype(values):
            raise UserError(f"{values.name}: it has text; {_said(wanted)} is for numbers.")
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


def _absent(column: str, wanted: object, rows: pd.DataFrame) -> str:
    """Why no row has the wanted value."""
    if column == "dataset" and {"run", "step"} <= set(rows):
        return f"not trained on {_said(wanted)}, but on {distinct(rows[column])}"
    return f"no rows with {column} {_said(wanted)}, only {distinct(rows[column])}"


def _said(wanted: object) -> str:
    if isinstance(wanted, Mapping):
        return " ".join(f"{end} {limit}" for end, limit in wanted.items())
    wanted = wanted if isinstance(wanted, list) else [wanted]
    return " or ".join("none" if each is None else str(each) for each in wanted)


def distinct(values: pd.Series) -> str:
    """The distinct values, the first few of them."""
    found = sorted(str(each) for each in values.dropna().unique())
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return (", ".join(found[:5]) or "without one") + more
