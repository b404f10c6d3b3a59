"""Tables of results: reading and checking them, and selecting their rows.

A row is a run, an evaluation or a case. The columns ``run``, ``seed``, ``step`` and ``diverged``
have a role; every other one is a setting or a metric. This module decides which values are missing
and which runs have diverged.
"""

from __future__ import annotations

import csv
import math
import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np

from verdicts.files import content_of, opened, readable, regular_file
from verdicts.lazy import compute, pa, pd, types
from verdicts.registry import TableError, UserError, as_list, nearest, shown

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

#: The most that a table may take in memory (Parquet) or on disk (CSV).
MOST_BYTES = 2**30

KINDS = (".parquet", ".csv")

#: The spellings of true and false, in lower case.
BOOLEANS = {"true": True, "t": True, "yes": True, "y": True, "1": True, "1.0": True} | {
    "false": False, "f": False, "no": False, "n": False, "0": False, "0.0": False
}  # fmt: skip


class Folder(dict[str, "pd.DataFrame"]):
    """Tables of a folder, by name."""

    #: The names of all tables that the folder has, read or not.
    known: Sequence[str] = ()


def read_tables(folder: str | Path, names: Iterable[str]) -> Folder:
    """The tables in ``folder`` with these names; a name without a file is left out.

    A table is the file NAME.parquet or NAME.csv. Raises a UserError if there is no such folder,
    for two files of one name, for a link to a file elsewhere, and like ``read_table``.
    """
    place = Path(folder)
    try:
        paths = [path for path in place.iterdir() if path.suffix in KINDS]
    except (OSError, ValueError):
        raise UserError(f"tables: {shown(str(folder))} is not a folder to read.") from None
    tables = Folder()
    tables.known = sorted({path.stem for path in paths})
    for name in names:
        files = [path for path in paths if path.stem == name]
        if len(files) > 1:
            raise UserError(f"tables: {name}.parquet and {name}.csv are both there; keep one.")
        for path in files:
            if not regular_file(path, "tables").resolve().is_relative_to(place.resolve()):
                reason = "is a link to a file elsewhere; copy it to the folder."
                raise UserError(f"tables: {str(path)!r} {reason}")
            tables[name] = read_table(path)
    return tables


def read_table(path: Path) -> pd.DataFrame:
    """The table in a file, with its roles (``with_roles``). A column of lists has their type as
    text.

    Raises a UserError for a file that is not regular, too large, or can't be read, for two columns
    of one name, and like ``with_roles``.
    """
    regular_file(path, "tables", MOST_BYTES)
    with readable(path, "tables"):
        return with_roles(
            _parquet(path) if path.suffix == ".parquet" else read_csv(path), path.name
        )


def of_frame(frame: pd.DataFrame, name: str = "table") -> pd.DataFrame:
    """A DataFrame as ``read_table`` gives the table in a file; an index with names is columns.

    Raises a UserError, which calls it ``name``, for two columns of one name, and like
    ``with_roles``.
    """
    index = [name for name in frame.index.names if name is not None and name not in frame]
    frame = frame.reset_index(index) if index else frame
    table = frame.reset_index(drop=True).set_axis([str(column) for column in frame], axis=1)
    check_columns(map(str, table), name)
    for column, values in table.items():
        if pd.api.types.is_extension_array_dtype(values.dtype):
            table[column] = pd.Series(values.to_numpy(object, na_value=np.nan)).infer_objects()
    return with_roles(table, name)


#: The columns with a role; every other one is a setting or a metric.
RESERVED = ("run", "seed", "step", "diverged")


def check_roles(columns: Iterable[object], file: str) -> None:
    """Raise a UserError for a name that is a reserved one but for case, spaces or underscores."""
    for name in map(str, columns):
        role = re.sub(r"[\s_]", "", name).lower()
        if role in RESERVED and name != role:
            raise UserError(f"{file}: the column {name!r} must be called {role!r}; rename it.")


def with_roles(table: pd.DataFrame, file: str) -> pd.DataFrame:
    """The table, in which ``diverged`` is boolean, and ``seed`` and ``step`` are whole numbers, or
    missing.

    Raises a UserError, which names the ``file``, for another value in these columns, and for a
    name that is nearly one of theirs (``check_roles``).
    """
    check_roles(table, file)
    if "diverged" in table:
        table["diverged"] = _booleans(table["diverged"], f"{file}: diverged")
    for name in ("seed", "step"):
        if name in table:
            table[name] = _whole(table[name], f"{file}: {name}")
    return table


#: What other fields call that which is independent, as a seed is.
UNITS = ("participant", "subject", "patient", "respondent", "animal", "fold")


def meant_as_seed(rows: pd.DataFrame, named: Iterable[object] = ()) -> str | None:
    """The column that may be meant as the seed, of a table without one; None if none may.

    Such as ``random_seed``, ``sead`` or ``subject``, not ``speed``. It has whole numbers, or names
    of ``UNITS`` with numbers, such as P01, and is not ``named``.
    """
    for name in map(str, rows if "seed" not in rows else ()):
        word = name.strip().lower()
        is_short = word[:1] == "s" and len(word) <= 4  # not speed, and not used
        unit = word.removesuffix("_id") in UNITS
        near = unit or "seed" in word or (is_short and nearest(word, ["seed"], cutoff=0.75))
        values = rows[name].dropna() if near and name not in [*named] else pd.Series(dtype=object)
        if values.dtype.kind in "iuf":
            like = values % 1 == 0
        else:
            like = values.astype(str).str.contains(r"\d") & unit
        if len(like) and like.all():
            return name
    return None


def diverged_runs(rows: pd.DataFrame, metrics: Iterable[str]) -> pd.Series:
    """Whether each run has diverged: booleans, indexed by run.

    If there is a column ``diverged``, it alone decides: a run with true in any row has diverged.
    Else the ``metrics`` decide. A run has diverged if it has, after its last finite value, a row
    without one at a step at which a peer has one. Peers of a run have finite values at the same
    steps up to that last one; those of a run without any finite value are the other seeds of its
    combination. In a table without steps, a gap is no divergence.
    """
    runs = pd.Index(rows["run"].unique(), name="run")
    if "diverged" in rows:
        return rows.groupby("run", sort=False)["diverged"].any().reindex(runs)
    lost: set[object] = set()
    for metric in metrics if "step" in rows else ():
        numbers, wrong = read_numbers(rows.get(metric, pd.Series(dtype=float)))
        if wrong.empty and not np.isfinite(numbers).all():
            lost |= _lost(rows.assign(**{metric: numbers}), metric)
    return pd.Series(runs.isin(list(lost)), runs)


def _lost(rows: pd.DataFrame, metric: str) -> set[object]:
    """The runs that have diverged, by one metric.

    Courses are tuples of steps with finite values. Those of a run's peers start with its own, and
    so follow each other where all are sorted.
    """
    finite = np.isfinite(rows[metric])
    at = rows[finite].groupby("run")["step"].agg(lambda steps: tuple(sorted(steps))).to_dict()
    courses = sorted({*at.values()})
    same = _combinations(rows, metric)
    reached = set(zip(rows["run"][finite].map(same), rows["step"][finite], strict=True))
    lost = set()
    for run, steps in rows[~finite].groupby("run")["step"]:
        if own := at.get(run):
            peers = courses[bisect_left(courses, own) : bisect_left(courses, (*own, math.inf))]
            later = {step for step in steps if step > own[-1]}
            found = any(later.intersection(peer[len(own) :]) for peer in peers if later)
        else:
            found = any((same[run], step) in reached for step in steps)
        if found:
            lost.add(run)
    return lost


def _combinations(rows: pd.DataFrame, metric: str) -> dict[object, object]:
    """The combination of each run: its values in the columns that do not change within a run."""
    others = rows.drop(columns=[*RESERVED, metric], errors="ignore")
    if rows["run"].is_unique:
        others = others.select_dtypes(exclude="float")
    alike = others.groupby(rows["run"]).nunique(dropna=False).eq(1).all()
    first = rows.drop_duplicates("run").set_index("run")[alike.index[alike]].astype(str)
    return dict(zip(first.index, map(tuple, first.to_numpy()), strict=True))


def _whole(values: pd.Series, key: str) -> pd.Series:
    numbers = pd.to_numeric(values, errors="coerce")
    wrong = values.notna() & (~(numbers.astype(float) % 1 == 0) | (values.dtype.kind in "bmM"))
    _check_rows(values, ~wrong, key, "is not a whole number")
    return numbers


def _booleans(values: pd.Series, key: str) -> pd.Series:
    truths = values.astype(object).map(lambda value: BOOLEANS.get(str(value).strip().lower()))
    _check_rows(values, truths.notna(), key, "is not true or false")
    return truths.astype(bool)


def _check_rows(values: pd.Series, right: pd.Series, key: str, reason: str) -> None:
    """Raise a UserError for the first value that is not ``right``."""
    if not right.all():
        row = int(right.to_numpy().argmin())
        value = values.astype(object).iloc[row]
        what = "an empty field" if pd.isna(value) else shown(value)
        raise UserError(f"{key}: {what} in row {row + 1} {reason}.")


def _parquet(path: Path) -> pd.DataFrame:
    content = content_of(path, "tables", MOST_BYTES)
    file = opened(content)
    groups = (file.metadata.row_group(k) for k in range(file.num_row_groups))
    declared = 8 * file.metadata.num_rows * file.metadata.num_columns  # decoded
    _check_size(path, max(declared, sum(group.total_byte_size for group in groups)))
    schema = file.schema_arrow
    check_columns(schema.names, path.name)
    flat = [field.name for field in schema if not types.is_nested(field.type)]
    texts = [field.name for field in schema if str(field.type) in TEXTS]
    table = opened(content, read_dictionary=texts).read(flat, use_threads=False)
    _check_size(path, sum(_decoded(table[name]) for name in flat))
    columns = [
        _plain(table[field.name]) if field.name in flat else pa.repeat(str(field.type), len(table))
        for field in schema
    ]
    # without the metadata of pandas, which makes columns an index, and gaps a type of their own
    return pa.table(columns, schema.names).to_pandas(ignore_metadata=True, use_threads=False)


#: The types of texts in Parquet files.
TEXTS = ("string", "large_string", "binary", "large_binary")


def _decoded(column: Any) -> int:
    """The bytes of a column's texts, which its file may have once for many rows."""
    if not types.is_dictionary(column.type) or str(column.type.value_type) not in TEXTS:
        return 0
    texts = (compute.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks)
    return sum(compute.sum(lengths).as_py() or 0 for lengths in texts)


def _plain(column: Any) -> Any:
    """A column as numbers, text, booleans or times: without a dictionary, decimals as floats."""
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.float64()) if types.is_decimal(column.type) else column


def read_csv(path: Path, notes: list[str] | None = None, **options: Any) -> pd.DataFrame:
    """The table in a CSV file; no column is an index. With ``options``, it is as pandas reads it.

    With ``notes``, a last row that was cut off is left out, and reported there.

    In a column of text only an empty field is missing: None, NA and nan are names. A column whose
    other fields are numbers is one of numbers, in which NA and NaN are missing, too.

    Raises a UserError for a row that has not as many fields as the header, for two columns of one
    name, and for a number that is too large for a float; an OSError, ValueError or csv.Error for a
    file that can't be read.
    """
    given: dict[str, Any] = {"index_col": False, "low_memory": False, "keep_default_na": False}
    given["nrows"] = _whole_rows(path, notes)
    if options:
        return pd.read_csv(path, **{**given, **options})
    table = pd.read_csv(path, na_values=[""], **given)
    for place, name in enumerate(table):
        if not (pd.api.types.is_numeric_dtype(table[name]) or table[name].isna().all()):
            table[name] = numbers_or_text(table[name])
        if table[name].dtype.kind == "f" and np.isinf(table[name]).any():
            texts = pd.read_csv(path, dtype=str, usecols=[place], **given).iloc[:, 0]
            right = np.isfinite(table[name]) | ~texts.str.contains(r"\d")
            reason = "is too large for a number; infinity is written inf"
            _check_rows(texts, right, f"{path.name}: {name}", reason)
    return table


#: What stands in a column of numbers where there is none.
NO_NUMBER = ("NA", "NaN", "nan", "NAN")


def read_numbers(values: pd.Series) -> tuple[pd.Series, pd.Series]:
    """A column as floats, and its values that are no numbers; NA and NaN are missing."""
    known = values.mask(values.isin(NO_NUMBER)) if values.dtype.kind == "O" else values
    numbers = pd.to_numeric(known, errors="coerce").astype(float)
    return numbers, known[known.notna() & numbers.isna()]


def numbers_or_text(values: pd.Series) -> pd.Series:
    """A column of texts as numbers, if all are numbers or missing; else without outer spaces."""
    if not values.dropna().map(lambda value: isinstance(value, str)).all():
        return values
    texts = values.str.strip()
    numbers, wrong = read_numbers(texts)
    return numbers if wrong.empty and numbers.notna().any() else texts.mask(texts == "")


def _whole_rows(path: Path, notes: list[str] | None) -> int | None:
    """Check that each row has as many fields as the header, and that no two columns have one name.

    With ``notes``, a last row that was cut off (it has fewer fields, and no end of line) is left
    out, and reported there: the number of rows before it. None if all rows are whole.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        read = csv.reader(_lines(file), strict=True)
        rows = (row for row in read if len(row) > 1 or "".join(row).strip())  # none is blank
        header = next(rows, [])
        if len(header) == 1 and (separators := {";", "\t", "|"} & set(header[0])):
            mark = separators.pop()
            raise UserError(f"{path.name}: columns are separated by {mark!r}; use commas.")
        check_columns(filter(None, header), path.name)
        for number, row in enumerate(rows, 1):
            if len(row) != len(header):
                reason = f"the header has {len(header)} fields, and row {number} has {len(row)}"
                is_last = len(row) < len(header) and next(rows, None) is None
                end = os.pread(file.fileno(), 1, os.path.getsize(path) - 1)
                if notes is None or not is_last or end in b"\r\n":
                    raise UserError(f"{path.name}: {reason}.")
                notes.append(f"left out: the last row of {path.name}, which was cut off: {reason}")
                return number - 1
    return None


def _lines(file: TextIO) -> Iterator[str]:
    try:
        for line in file:
            if "\0" in line:
                raise ValueError("it has a NUL character")
            yield line
    except UnicodeDecodeError:
        raise ValueError("it is not text in UTF-8") from None


def check_columns(names: Iterable[str], file: str) -> None:
    """Raise a UserError for a file without columns, and if two columns have one name."""
    counts = Counter(names)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise UserError(f"{file}: two columns are called {shown(twice[0])}; rename one.")
    if not counts:
        raise UserError(f"{file}: it has no columns.")


def _check_size(path: Path, size: int) -> None:
    if size > MOST_BYTES:
        raise UserError(f"tables: {str(path)!r} has {size:,} bytes; at most {MOST_BYTES:,}.")


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
            known = getattr(tables, "known", ())
            only = f", only {', '.join(known)}" if known else ""
            raise UserError(f"there is no table {shown(name)}{only}.{nearest(name, known)}")
    return reduce(_joined, (tables[name] for name in names))


def _joined(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    columns = list(dict.fromkeys([*one, *other]))
    both = [name for name in one if name in other]
    parts = [part.dropna(axis=1, how="all") for part in (one, other)]
    rows = pd.concat(parts, ignore_index=True).reindex(columns=columns)
    if "diverged" in rows:
        rows["diverged"] = rows["diverged"].eq(True)
    if {"run", "step"} <= set(both) and (UNIVERSE in both or UNIVERSE not in rows):
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
        pairs = described(where)
        raise UserError(f"no runs with {pairs}" if pairs else "the table is empty")
    return rows[:] if kept.all() else rows[kept]


def matches(values: pd.Series, wanted: object) -> pd.Series:
    """Whether each value meets a condition: the value, one of the values, or in the range.

    In a column of numbers, text that is a number means that number: YAML reads ``1e-3`` as text.
    Numbers are compared in the column's precision; true and false are no numbers. The texts True
    and False mean the same as true and false.
    """
    if isinstance(wanted, Mapping):
        low, high = wanted.get("min", -float("inf")), wanted.get("max", float("inf"))
        if not pd.api.types.is_numeric_dtype(values):
            raise UserError(f"{values.name}: it has text; {_said(wanted)} is for numbers.")
        return values.between(low, high)
    listed = as_list(wanted)
    given = [_truth_as_text(value) for value in listed if value is not None]
    if pd.api.types.is_bool_dtype(values):
        met = values.isin([text == "True" for text in given if text in ("True", "False")])
    elif pd.api.types.is_numeric_dtype(values):
        met = _one_of(
            values, [_number(value) if isinstance(value, str) else value for value in given]
        )
    else:  # 1 == True, but not as text
        met = (values.map(_truth_as_text) if values.dtype == object else values).isin(given)
    return met | values.isna() if None in listed else met


def _truth_as_text(value: object) -> object:
    return str(value) if isinstance(value, bool | np.bool_) else value


def _one_of(values: pd.Series, wanted: Sequence[Any]) -> pd.Series:
    """Whether each number is one of those ``wanted``; whole numbers are not rounded to floats."""
    whole = [int(value) for value in wanted if isinstance(value, int | np.integer)]
    floats = [value for value in wanted if isinstance(value, float | np.floating)]
    if values.dtype.kind == "f":
        exact = [float(value) for value in whole if abs(value) < 2**1000 and float(value) == value]
        with np.errstate(over="ignore"):
            return values.isin(np.array([*exact, *floats]).astype(str(values.dtype).lower()))
    return values.isin([*whole, *(int(value) for value in floats if value % 1 == 0)])


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


def described(where: Selection) -> str:
    """A selection in words: ``method ngo, p 0.8``."""
    return ", ".join(f"{column} {_said(wanted)}" for column, wanted in where.items())


def _said(wanted: object) -> str:
    if isinstance(wanted, Mapping):
        return " ".join(f"{end} {limit}" for end, limit in wanted.items())
    return " or ".join("none" if value is None else str(value) for value in as_list(wanted))


def distinct(values: pd.Series) -> str:
    """The distinct values, the first few of them."""
    texts = sorted(str(value) for value in values.dropna().unique())
    more = f" and {len(texts) - 5} more" if len(texts) > 5 else ""
    return (", ".join(texts[:5]) or "without one") + more
