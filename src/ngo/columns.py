"""Columns of numbers in a parquet file that says what it is about.

The arrow library's own constructors import pandas, which would cost each of hundreds of training
jobs most of a second; columns are handed to it as buffers instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from ngo.files import whole_file
from ngo.registry import UserError

_TYPES = {"i": pa.int64(), "f": pa.float64(), "b": pa.bool_()}


def write(
    path: str | Path, columns: Mapping[str, Sequence | np.ndarray], facts: Mapping[str, object]
) -> None:
    """Write columns of integers, floats or booleans, and ``facts``, as parquet."""
    arrays = [_array(np.asarray(values)) for values in columns.values()]
    table = pa.Table.from_arrays(arrays, names=list(columns))
    with whole_file(path) as temporary:
        parquet.write_table(table.replace_schema_metadata({"ngo": json.dumps(facts)}), temporary)


def read(
    path: str | Path, key: str, names: Iterable[str] = (), about: Iterable[str] = ()
) -> tuple[dict[str, np.ndarray], dict[str, object]]:
    """The columns and facts of such a file, those ``names`` and what it is ``about`` among them; a
    UserError, under ``key``, if it is none.
    """

    def refused(reason: object) -> UserError:
        return UserError(f"{key}: {str(path)!r} is not such a file, or damaged: {reason}.")

    try:
        table = parquet.ParquetFile(path).read()  # read_table imports pandas too
        facts = json.loads((table.schema.metadata or {}).get(b"ngo", "null"))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise refused(str(error).splitlines()[0].rstrip(".")) from None
    if not isinstance(facts, dict):
        raise refused("ngo did not write it")
    for name in about:
        if name not in facts:
            raise refused(f"it does not say of which {name} it is")
    for name in names:
        if name not in table.column_names:
            raise refused(f"it has no column {name!r}")
    for column, kind in zip(table.columns, table.schema, strict=True):
        if kind.type not in _TYPES.values() or column.null_count:
            raise refused(f"its column {kind.name!r} holds other things than ngo writes")
    columns = {name: _values(table[name].combine_chunks()) for name in table.column_names}
    return columns, facts


def _array(values: np.ndarray) -> pa.Array:
    kind = _TYPES[values.dtype.kind]
    if kind == pa.bool_():
        data = np.packbits(values, bitorder="little")
    else:
        data = values.astype(kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(data)])


def _values(array: pa.Array) -> np.ndarray:
    data = array.buffers()[1]
    if array.type == pa.bool_():
        bits = np.frombuffer(data, np.uint8)
        return np.unpackbits(bits, bitorder="little")[array.offset :][: len(array)].astype(bool)
    values = np.frombuffer(data, array.type.to_pandas_dtype())
    return values[array.offset : array.offset + len(array)]
