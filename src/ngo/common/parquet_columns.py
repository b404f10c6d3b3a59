"""Reads and writes columns of numbers in parquet files, with facts in the files' metadata.

The constructors of pyarrow import pandas, which takes most of a second in each of hundreds of
training jobs. Columns are therefore passed to pyarrow as buffers.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from ngo.common.files import write_bytes
from ngo.common.memory import check_declared
from verdicts.files import CHECKSUMS, content_of, opened, sealed
from verdicts.registry import UserError, in_a_line

#: Integers, floats or booleans, by the name of the column.
Columns = Mapping[str, Sequence | np.ndarray]

_TYPES = {"i": pa.int64(), "f": pa.float64(), "b": pa.bool_()}


def write_columns(path: str | Path, facts: Mapping[str, object], groups: Iterable[Columns]) -> None:
    """Write groups of rows, and ``facts``, as parquet; one group can be read alone."""
    tables = [
        pa.table({name: column(np.asarray(values)) for name, values in columns.items()})
        for columns in groups
    ]
    schema = tables[0].schema.with_metadata({"ngo": json.dumps(facts)})
    content = io.BytesIO()
    with parquet.ParquetWriter(content, schema, **CHECKSUMS) as writer:
        for table in tables:
            writer.write_table(table.cast(schema))
    write_bytes(path, sealed(content.getvalue()))


def read_columns(
    path: str | Path,
    key: str,
    names: Iterable[str] = (),
    about: Iterable[str] = (),
    group: Callable[[dict[str, Any]], int] | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the columns and the facts of a file written by ``write_columns``.

    ``group(facts)`` is the number of the group of rows that is read; without it, all are. Raises
    a UserError, under ``key``, if the file can't be read, is damaged, was not written by ngo, or
    lacks one of the columns ``names`` or of the facts ``about``.
    """

    def refused(reason: object) -> UserError:
        return UserError(f"{key}: {str(path)!r} is the wrong file, or damaged: {reason}.")

    content = content_of(Path(path), key)
    try:
        file = opened(content)
        check_declared(Path(path), key, 8 * file.metadata.num_rows * file.metadata.num_columns)
        facts = json.loads((file.schema_arrow.metadata or {}).get(b"ngo", "null"))
        if not isinstance(facts, dict):
            raise refused("ngo did not write it")
        for name in about:
            if name not in facts:
                raise refused(f"its metadata has no {name!r}")
        one = {"use_threads": False}
        table = file.read(**one) if group is None else file.read_row_group(group(facts), **one)
    except (pa.ArrowException, OSError, ValueError, RecursionError) as error:
        raise refused(in_a_line(error)) from None
    if len(set(table.column_names)) < len(table.column_names):
        raise refused("it has two columns of one name")
    for name in names:
        if name not in table.column_names:
            raise refused(f"it has no column {name!r}")
    for column, kind in zip(table.columns, table.schema, strict=True):
        if kind.type not in _TYPES.values() or column.null_count:
            raise refused(f"its column {kind.name!r} has missing values or another type")
    columns = {name: _values(table[name].combine_chunks()) for name in table.column_names}
    return columns, facts


def column(values: np.ndarray) -> pa.Array:
    """A column of integers, floats or booleans."""
    kind = _TYPES[values.dtype.kind]
    if kind == pa.bool_():
        data = np.packbits(values, bitorder="little")
    else:
        data = values.astype(kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(data)])


def repeated(value: object, n: int) -> pa.Array:
    """A column with ``n`` times a number, a text or None."""
    if value is None:
        return pa.nulls(n)
    if not isinstance(value, str):
        return column(np.full(n, value))
    text = value.encode()
    offsets = np.arange(n + 1, dtype=np.int32) * len(text)
    return pa.StringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(text * n))


def _values(array: pa.Array) -> np.ndarray:
    data = array.buffers()[1]
    if array.type == pa.bool_():
        bits = np.frombuffer(data, np.uint8)
        return np.unpackbits(bits, bitorder="little")[array.offset :][: len(array)].astype(bool)
    values = np.frombuffer(data, array.type.to_pandas_dtype())
    return values[array.offset : array.offset + len(array)]
