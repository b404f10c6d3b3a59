"""Tidy tables in files: Parquet or CSV, one row for each run, evaluation or case.

What a table must be, whatever claims read of it, is checked here.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from verdicts.files import content_of, opened, regular_file
from verdicts.lazy import compute, pa, pd, types
from verdicts.registry import UserError, shown
from verdicts.rows.selection import Folder

#: The most that a table may take in memory (Parquet) or on disk (CSV).
MOST_BYTES = 2**30

KINDS = (".parquet", ".csv")

#: The spellings of true and false, in lower case.
BOOLEANS = {"true": True, "t": True, "yes": True, "y": True, "1": True, "1.0": True} | {
    "false": False, "f": False, "no": False, "n": False, "0": False, "0.0": False
}  # fmt: skip


def read_tables(folder: str | Path, names: Iterable[str]) -> Folder:
    """The tables in ``folder`` with these names; a name without a file is left out.

    A table is the file NAME.parquet or NAME.csv. Raises a UserError if there is no such folder,
    for two files of one name, for a link to a file elsewhere, and like ``read_table``.
    """
    place = Path(folder)
    try:
        paths = [path for path in place.iterdir() if path.suffix in KINDS]
    except (NotADirectoryError, FileNotFoundError):
        raise UserError(f"tables: {str(folder)!r} is not a folder.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"tables: {shown(str(folder))} can't be read: {reason}.") from None
    tables = Folder({path.stem: path.name for path in paths})
    for name in names:
        files = [path for kind in KINDS for path in paths if path.name == f"{name}{kind}"]
        if len(files) > 1:
            both = f"{files[0].name} and {files[1].name}"
            raise UserError(f"tables: {both} are both there; keep one.")
        if files:
            path = regular_file(files[0], "tables", MOST_BYTES)
            if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(place)):
                told = f"{str(path)!r} is a link to a file elsewhere; copy it to the folder."
                raise UserError(f"tables: {told}")
            tables[name] = read_table(path)
    return tables


def read_table(path: Path) -> pd.DataFrame:
    """The table in a file. ``diverged`` is boolean; ``seed`` and ``step`` are whole numbers, or
    missing. A column of lists has their type as text.

    Raises a UserError for a file that is not regular, too large, or can't be read, for two columns
    of one name, and for another value in these columns.
    """
    try:
        regular_file(path, "tables", MOST_BYTES)
        table = _parquet(path) if path.suffix == ".parquet" else read_csv(path)
    except (OSError, ValueError, csv.Error, pa.ArrowException) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"tables: {str(path)!r} can't be read: {reason}") from None
    for name in map(str, table):
        if name != "diverged" and name.strip().lower() == "diverged":
            raise UserError(f"{path.name}: the column {name!r} must be called 'diverged'.")
    if "diverged" in table:
        table["diverged"] = _booleans(table["diverged"], f"{path.name}: diverged")
    for name in ("seed", "step"):
        if name in table:
            table[name] = _whole(table[name], f"{path.name}: {name}")
    return table


def _whole(values: pd.Series, key: str) -> pd.Series:
    numbers = pd.to_numeric(values, errors="coerce")
    wrong = values.notna() & (~(numbers.astype(float) % 1 == 0) | (values.dtype.kind in "bmM"))
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        value = shown(values.astype(object)[row])
        raise UserError(f"{key}: {value} in row {row + 1} is not a whole number.")
    return numbers


def _booleans(values: pd.Series, key: str) -> pd.Series:
    if values.dtype == bool:
        return values
    values = values.astype(object)
    truths = values.map(lambda value: BOOLEANS.get(str(value).strip().lower()))
    if truths.isna().any():
        row = int(truths.isna().to_numpy().argmax())
        what = "is empty" if pd.isna(values[row]) else f"is {shown(values[row])}"
        raise UserError(f"{key} {what} in row {row + 1}; it must be true or false in all rows.")
    return truths.astype(bool)


def _parquet(path: Path) -> pd.DataFrame:
    content = content_of(path, "tables", MOST_BYTES)
    file = opened(content)
    groups = (file.metadata.row_group(k) for k in range(file.num_row_groups))
    declared = 8 * file.metadata.num_rows * file.metadata.num_columns  # decoded
    _check_size(path, max(declared, sum(group.total_byte_size for group in groups)))
    schema = file.schema_arrow
    check_columns(schema.names, path.name)
    flat = [field.name for field in schema if not types.is_nested(field.type)]
    texts = [field.name for field in schema if _is_text(field.type)]
    table = opened(content, read_dictionary=texts).read(flat)
    _check_size(path, sum(_decoded(table[name]) for name in flat))
    columns = [
        _plain(table[field.name]) if field.name in flat else pa.repeat(str(field.type), len(table))
        for field in schema
    ]
    # without the metadata of pandas, which makes columns an index, and gaps a type of their own
    return pa.table(columns, schema.names).to_pandas(ignore_metadata=True)


def _is_text(kind: Any) -> bool:
    kinds = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(is_kind(kind) for is_kind in kinds)


def _decoded(column: Any) -> int:
    """The bytes of a column's texts, which its file may have once for many rows."""
    if not types.is_dictionary(column.type) or not _is_text(column.type.value_type):
        return 0
    texts = (compute.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks)
    return sum(compute.sum(lengths).as_py() or 0 for lengths in texts)


def _plain(column: Any) -> Any:
    """A column as numbers, text, booleans or times: without a dictionary, decimals as floats."""
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.float64()) if types.is_decimal(column.type) else column


def read_csv(path: Path, **options: Any) -> pd.DataFrame:
    """The table in a CSV file, for which pandas has ``options``; no column is an index.

    Raises a UserError for a row that has not as many fields as the header, and for two columns of
    one name; an OSError, ValueError or csv.Error for a file that can't be read.
    """
    before = csv.field_size_limit(MOST_BYTES)
    try:
        _check_fields(path)
    finally:
        csv.field_size_limit(before)
    return pd.read_csv(path, index_col=False, low_memory=False, **options)


def _check_fields(path: Path) -> None:
    """Check that each row has as many fields as the header, which names no column twice."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = filter(_has_a_field, csv.reader(_lines(file), strict=True))
        header = next(rows, [])
        if len(header) == 1 and (separators := {";", "\t", "|"} & set(header[0])):
            mark = separators.pop()
            raise UserError(f"{path.name}: columns are separated by {mark!r}; use commas.")
        check_columns(filter(None, header), path.name)
        for number, row in enumerate(rows, 1):
            if len(row) != len(header):
                fields = f"{len(row)} field{'' if len(row) == 1 else 's'}"
                told = f"row {number} has {fields}, and the header has {len(header)}."
                raise UserError(f"{path.name}: {told}")


def _lines(file: TextIO) -> Iterator[str]:
    try:
        for line in file:
            if "\0" in line:
                raise ValueError("it has a NUL character")
            yield line
    except UnicodeDecodeError:
        raise ValueError("it is not text in UTF-8") from None


def _has_a_field(row: list[str]) -> bool:
    """Whether a line is a row: blank lines are not."""
    return len(row) > 1 or bool(row and row[0].strip())


def check_columns(names: Iterable[str], file: str) -> None:
    """Raise a UserError for a file without columns, and if two columns have one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UserError(f"{file}: two columns are called {shown(name)}; rename one.")
        seen.add(name)
    if not seen:
        raise UserError(f"{file}: it has no columns.")


def _check_size(path: Path, size: int) -> None:
    if size > MOST_BYTES:
        raise UserError(f"tables: {str(path)!r} has {size:,} bytes; at most {MOST_BYTES:,}.")
