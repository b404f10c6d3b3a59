"""Checks of a parquet file: its types, its pages, and the memory it takes, before it is decoded.

A small file can declare anything: a page that decompresses to gigabytes, or a run length of
billions of equal values. So the headers of all pages are read, and only plain columns, in the few
encodings that pyarrow writes by default, are allowed.

Source: the Parquet format, https://github.com/apache/parquet-format (compact Thrift of
FileMetaData and PageHeader).
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ngo.pipeline.archives.limits import COLUMNS, TABLES

if TYPE_CHECKING:
    from pyarrow import parquet

#: PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY, BYTE_STREAM_SPLIT. (Deltas of text multiply.)
ENCODINGS = (0, 2, 3, 8, 9)

#: UNCOMPRESSED, SNAPPY, ZSTD.
CODECS = (0, 1, 6)

TYPES = ("double", "float", "bool", "string", "large_string", "null",
         *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))  # fmt: skip

# What pyarrow and the parsing of headers raise for damaged files, other than errors of Arrow.
_FAULTS = (LookupError, TypeError, AttributeError, RecursionError)

# Kinds of values in compact Thrift.
_I32, _I64, _LIST, _STRUCT = 5, 6, 9, 12

Field = tuple[int, int]
"""A field of a struct: its number, and the kind of its value. Readers skip other kinds."""

#: Fields of a page's header.
_PAGE_KIND, _DECOMPRESSED, _COMPRESSED = (1, _I32), (2, _I32), (3, _I32)

#: Kinds of pages: each with the field of its header, and those of its count and its encoding in it.
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_HEADER: dict[int, tuple[Field, Field, Field]] = {
    _DATA: ((5, _STRUCT), (1, _I32), (2, _I32)),
    _DICTIONARY: ((7, _STRUCT), (1, _I32), (2, _I32)),
    _DATA_2: ((8, _STRUCT), (1, _I32), (4, _I32)),
}

#: Fields of a footer: of the file, a row group, a column, and its chunk.
_ROWS, _GROUPS = (3, _I64), (4, _LIST)
_COLUMNS, _GROUP_ROWS = (1, _LIST), (3, _I64)
_CHUNK = (3, _STRUCT)
_CODEC, _VALUES, _SIZE = (4, _I32), (5, _I64), (7, _I64)
_DATA_OFFSET, _DICTIONARY_OFFSET = (9, _I64), (11, _I64)

#: The most bytes of a footer, and of a page's header: parsed, they take some hundred times as much.
_FOOTER, _PAGE_HEADER = 2**20, 2**16


def decoded_bytes(content: bytes, most: int = TABLES) -> int:
    """The memory that a table takes when it is decoded, in bytes.

    Raises a ValueError for a file that is damaged, that has anything but plain columns of numbers
    and text, or that takes more than ``most``.
    """
    from pyarrow import ArrowException, parquet

    limits = {"thrift_string_size_limit": 2**20, "thrift_container_size_limit": 10**5}
    try:
        file = parquet.ParquetFile(io.BytesIO(content), **limits)
        texts = _check_columns(file)
        size = file.metadata.num_rows * 8 * max(1, file.metadata.num_columns)
        if max(size, _decompressed(content)) > most:
            raise ValueError("it is too large when it is decoded")
        # With dictionaries, equal texts take no memory.
        size += _text_bytes(parquet.ParquetFile(io.BytesIO(content), read_dictionary=texts))
        file.schema_arrow.empty_table().to_pandas()
        dict(json.loads((file.schema_arrow.metadata or {}).get(b"PANDAS_ATTRS", b"{}")))
    except (ArrowException, OSError, *_FAULTS) as error:
        raise ValueError(" ".join(str(error).split())[:200] or type(error).__name__) from None
    if size > most:
        raise ValueError("it is too large when it is decoded")
    return size


def _check_columns(file: parquet.ParquetFile) -> list[str]:
    """Raise a ValueError for columns that are not plain; the names of those of text."""
    schema, plain = file.schema_arrow, file.schema
    if len(schema) > COLUMNS or len(schema) != len(plain) or len(set(schema.names)) < len(schema):
        raise ValueError("it has too many columns, or columns that are not plain")
    for field, column in zip(schema, plain, strict=True):
        extension = field.metadata and any(key.startswith(b"ARROW:") for key in field.metadata)
        repeats = column.max_repetition_level or column.max_definition_level > 1
        if str(field.type) not in TYPES or repeats or extension:
            raise ValueError(f"its column {field.name!r} is of the type {str(field.type)[:40]}")
    return [field.name for field in schema if str(field.type).endswith("string")]


def _text_bytes(file: parquet.ParquetFile) -> int:
    """The bytes of all texts. Reads one column at a time, so that a damaged one is found."""
    from pyarrow import compute

    total = 0
    for k, name in enumerate(file.schema_arrow.names):
        for chunk in file.read(columns=[name]).column(0).chunks:
            chunk.validate(full=True)
            if str(file.schema_arrow.field(k).type).startswith("dictionary"):
                lengths = compute.binary_length(chunk.dictionary)
                total += compute.sum(lengths.take(chunk.indices)).as_py() or 0
    return total


def _decompressed(content: bytes) -> int:
    """The bytes of all pages, decompressed; a ValueError for a page that is not allowed.

    The footer is read here: pyarrow ends the process for some that are damaged.
    """
    size = int.from_bytes(content[-8:-4], "little")
    if not 0 < size <= min(_FOOTER, len(content) - 8):
        raise ValueError("its footer is too large, or not there")
    metadata, _ = _struct(content[-8 - size : -8], 0)
    total = 0
    for group in metadata[_GROUPS]:
        for column in group[_COLUMNS]:
            chunk = column[_CHUNK]
            if chunk[_CODEC] not in CODECS:
                raise ValueError("its columns are compressed in another way")
            if chunk[_VALUES] != group[_GROUP_ROWS]:
                raise ValueError("its columns are not all there")
            # An offset of 0 stands for no dictionary.
            start = min(chunk[_DATA_OFFSET], chunk.get(_DICTIONARY_OFFSET) or chunk[_DATA_OFFSET])
            if start < 4 or chunk[_SIZE] < 0 or start + chunk[_SIZE] > len(content):
                raise ValueError("its pages are not in the file")
            values = 0
            for kind, count, decompressed in _pages(content[start : start + chunk[_SIZE]]):
                total += decompressed
                values += count if kind != _DICTIONARY else 0
            if values != group[_GROUP_ROWS]:
                raise ValueError("its pages have other rows than it declares")
    if sum(group[_GROUP_ROWS] for group in metadata[_GROUPS]) != metadata[_ROWS]:
        raise ValueError("its parts have other rows than it declares")
    return total


def _pages(content: bytes) -> Iterator[tuple[int, int, int]]:
    """The kind, the number of values and the decompressed size of each page of a column."""
    place = 0
    while place < len(content):
        header, size = _struct(content[place : place + _PAGE_HEADER], 0)
        place += size
        kind, decompressed, compressed = (
            header[field] for field in (_PAGE_KIND, _DECOMPRESSED, _COMPRESSED)
        )
        if kind not in _HEADER or decompressed < 0 or compressed < 0:
            raise ValueError("it has a page of another kind")
        field, count, encoding = _HEADER[kind]
        values = header[field][count]
        entries = kind == _DICTIONARY and values > decompressed
        if header[field][encoding] not in ENCODINGS or values < 0 or entries:
            raise ValueError("it has a page in another encoding")
        yield kind, values, decompressed
        place += compressed


def _struct(content: bytes, place: int) -> tuple[dict[Field, Any], int]:
    """The fields of a compact Thrift struct, and where it ends."""
    fields: dict[Field, Any] = {}
    seen: set[int] = set()
    number = 0
    while (head := content[place]) != 0:
        place += 1
        if head >> 4:
            number += head >> 4
        else:
            number, place = _integer(content, place)
        if number in seen or not 0 < number < 2**15:  # readers could take another field for it
            raise ValueError("it has a field twice, or one that no reader knows")
        seen.add(number)
        kind = head & 15
        fields[number, kind], place = _value(content, place, kind)
    return fields, place + 1


def _value(content: bytes, place: int, kind: int) -> tuple[object, int]:
    if kind in (1, 2):  # true, false
        return kind == 1, place
    if kind in (4, _I32, _I64):
        return _integer(content, place)
    if kind == 8:  # bytes: minima and maxima of columns
        size, place = _unsigned(content, place)
        return None, place + size
    if kind in (3, 7):  # a byte, a double
        return None, place + (1 if kind == 3 else 8)
    if kind == _LIST:
        return _list(content, place)
    if kind == _STRUCT:
        return _struct(content, place)
    raise ValueError("it has a page with another header")


def _list(content: bytes, place: int) -> tuple[list[object], int]:
    size, kind = content[place] >> 4, content[place] & 15
    place += 1
    if size == 15:
        size, place = _unsigned(content, place)
    values = []
    for _ in range(size):
        value, place = _value(content, place, 3 if kind in (1, 2) else kind)
        values.append(value)
        content[place - 1]  # an IndexError if the list is longer than the file
    return values, place


def _integer(content: bytes, place: int) -> tuple[int, int]:
    value, place = _unsigned(content, place)
    return (value >> 1) ^ -(value & 1), place


def _unsigned(content: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64:
        value |= (content[place] & 127) << shift
        place, shift = place + 1, shift + 7
        if content[place - 1] < 128:
            return value, place
    raise ValueError("it has a page with another header")
