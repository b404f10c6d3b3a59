"""Reading of files that a stranger may have made, in YAML and Parquet; and writing of whole files.

In YAML, repeated keys are rejected, and so are aliases that expand to too many values. The checks
of a file's entries raise a one-line UserError under ``key``.

A Parquet file that we wrote carries the SHA-256 of its bytes, so that a single wrong bit is found.
Parquet has checksums for its pages, but none for the footer. Ours stands, after ``TAG``, between
the last page and the footer, where no reader looks. In a file of another tool, which lacks it, only
the checksums of pages are verified.
"""

from __future__ import annotations

import csv
import hashlib
import math
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from verdicts.lazy import pa, parquet, pd
from verdicts.registry import UserError, as_list, check, in_a_line, one_of, printable


@contextmanager
def readable(path: Path, key: str) -> Iterator[None]:
    """Raise a UserError, under ``key``, in place of an error that the file at ``path`` causes."""
    try:
        yield
    except FileNotFoundError:
        raise UserError(f"{key}: {str(path)!r} does not exist.") from None
    except Exception as error:
        of_arrow = type(error).__module__.startswith("pyarrow")  # which may not be installed
        if not (of_arrow or isinstance(error, OSError | ValueError | csv.Error)):
            raise
        reason = (getattr(error, "strerror", None) or in_a_line(error))[:200]
        raise UserError(f"{key}: {str(path)!r} can't be read: {reason}.") from None


def regular_file(path: Path, key: str, most: int | None = None) -> Path:
    """``path``; a UserError, under ``key``, if it is no regular file, or has over ``most`` bytes.

    Opening a pipe may block for ever, and a device may have no end.
    """
    with readable(path, key):
        status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise UserError(f"{key}: {str(path)!r} can't be read: it is not a regular file.")
    if most is not None and status.st_size > most:
        raise UserError(f"{key}: {str(path)!r} has {status.st_size:,} bytes; at most {most:,}.")
    return path


def content_of(path: Path, key: str, most: int | None = None) -> bytes:
    """The bytes of a file, checked as by ``regular_file``; a UserError if it can't be read."""
    with readable(path, key):
        return regular_file(path, key, most).read_bytes()


def write_together(
    folder: Path, contents: Mapping[str, str | bytes], inputs: Iterable[Path]
) -> None:
    """Write files, by name, to ``folder``: all of them whole, or none, and none over an input.

    Raises a UserError under the key ``out``.
    """
    known = [path for path in inputs if path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for target in (folder / name for name in contents):
            if os.path.lexists(target) and not target.is_file():
                raise UserError(f"out: {str(target)!r} is there, and is not a regular file.")
            if target.exists() and any(target.samefile(path) for path in known):
                raise UserError(f"out: {str(target)!r} is what is read; choose another folder.")
        with tempfile.TemporaryDirectory(prefix=".verdicts-", dir=folder) as waiting:
            for name, content in contents.items():
                data = content if isinstance(content, bytes) else content.encode()
                Path(waiting, name).write_bytes(data)
            for name in contents:
                Path(waiting, name).replace(folder / name)
    except OSError as error:
        raise UserError(f"out: {str(folder)!r}: {error.strerror}.") from None


MERGE = "tag:yaml.org,2002:merge"
BOOLEAN = "tag:yaml.org,2002:bool"

# The most values that a file may have with its aliases written out.
VALUES = 10**6


class Unfit(Exception):
    """A wrong key, or a file beyond the limits; the message follows the name of the file."""


# PyYAML may have been built without its faster loader.
class UniqueKeys(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader. It raises Unfit for a repeated key, where PyYAML would use the last value,
    for a key that PyYAML would read as true or false, and, before it expands them, for aliases that
    expand to too many values. A key may override one from a merge (``<<: *other``).
    """

    def construct_document(self, node: yaml.Node) -> object:
        """Check the values and keys as they are in the file, before merges are resolved."""
        sizes: dict[int, int] = {}

        def size(value: yaml.Node) -> int:
            """The number of values in one, aliases written out."""
            if id(value) not in sizes:
                sizes[id(value)] = VALUES + 1  # until it is counted: a value that contains itself
                inside = value.value if isinstance(value, yaml.CollectionNode) else []
                if isinstance(value, yaml.MappingNode):
                    _check_keys(value)
                    inside = [child for _, child in inside]
                sizes[id(value)] = 1 + sum(map(size, inside))
            return sizes[id(value)]

        if size(node) > VALUES:
            raise Unfit(f" has more than {VALUES:,} values with its aliases written out")
        return super().construct_document(node)


def _check_keys(node: yaml.MappingNode) -> None:
    lines: dict[tuple[str, str], int] = {}  # of each key, its first
    for key, _ in node.value:
        if key.tag == MERGE or not isinstance(key, yaml.ScalarNode):
            continue
        name, line = (key.tag, key.value), key.start_mark.line + 1
        if key.tag == BOOLEAN:
            reason = f"YAML reads the key {key.value} as true or false, like on, off, yes and no"
            raise Unfit(f", line {line}: {reason}; quote it: '{key.value}'")
        if name in lines:
            raise Unfit(f", line {line}: {key.value!r} is already defined in line {lines[name]}")
        lines[name] = line


# A file may have this many bytes, levels of nesting, and characters in one value. PyYAML crashes
# for deep nesting, and takes minutes for a number with a million digits.
MOST_BYTES = 4 * 2**20
DEEPEST = 50
LONGEST = 20_000


def read_mapping(path: str | Path, key: str) -> dict[Any, Any]:
    """The mapping in a YAML file; a UserError, under ``key``, for a file without one."""
    try:
        values = yaml.load(_text(content_of(Path(path), key, MOST_BYTES)), UniqueKeys)
    except Unfit as error:
        raise UserError(f"{key}: {str(path)!r}{error}.") from None
    except _INVALID as error:
        problem = " ".join(str(error).split())
        raise UserError(f"{key}: {str(path)!r} is not valid YAML: {problem}") from None
    if not isinstance(values, dict):
        raise UserError(f"{key}: {str(path)!r} must be a mapping of keys to values")
    return values


# What PyYAML raises; the last three for a tag (!!bool, !!int, !!timestamp) on a wrong value.
_INVALID = (yaml.YAMLError, ValueError, RecursionError, LookupError, AttributeError, TypeError)


def _text(content: bytes) -> str:
    """The text of a YAML file; Unfit if it is beyond the limits."""
    text, depth = content.decode(), 0
    for event in yaml.parse(text, UniqueKeys):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + 1
        if depth > DEEPEST:
            raise Unfit(f" is nested more than {DEEPEST} levels deep in line {line}")
        if isinstance(event, yaml.ScalarEvent) and len(event.value) > LONGEST:
            raise Unfit(f" has a value of more than {LONGEST:,} characters in line {line}")
    return text


def check_keys(
    key: str, values: Mapping[Any, object], known: Iterable[str], required: Iterable[str]
) -> None:
    """Raise a UserError for an unknown key, and for a required one that is missing."""
    for name in values:
        one_of(key, name, known)
    for name in required:
        if name not in values:
            raise UserError(f"{key}: {name!r} is missing.")


def mapping(key: str, value: Any) -> Mapping[Any, object]:
    """A mapping."""
    return check(isinstance(value, Mapping), key, value, "it must be a mapping")


def names(key: str, value: Any) -> tuple[str, ...]:
    """A name, or the names in a list."""
    listed = as_list(value)
    right = listed and all(isinstance(name, str) for name in listed)
    check(right, key, value, "it must be a name, or a list")
    return tuple(listed)


def text(key: str, value: Any) -> str:
    """Text in one line, without control characters."""
    right = isinstance(value, str) and printable(value.strip()) == value.strip()
    return check(right, key, value, "it must be text in one line").strip()


def number(key: str, value: Any) -> float:
    """A finite number."""
    right = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return check(right, key, value, "it must be a number")


def boolean(key: str, value: Any) -> bool:
    """A boolean."""
    return check(isinstance(value, bool), key, value, "it must be true or false")


# Parquet files.

TAG = b"\0SHA-256 of all other bytes:"
SIZE = hashlib.sha256().digest_size

#: The argument of pyarrow's and pandas' writers for checksums of pages.
CHECKSUMS = {"write_page_checksum": True}


def sealed(content: bytes) -> bytes:
    """The content of a Parquet file, with its sum."""
    footer = int.from_bytes(content[-8:-4], "little") + 8  # behind it, its length and a magic word
    start, end = content[:-footer], content[-footer:]
    return start + TAG + hashlib.sha256(content).digest() + end


def opened(content: bytes, **options: Any) -> parquet.ParquetFile:
    """The Parquet file with this content, for which pyarrow has ``options``.

    Raises a ValueError if the content does not have the sum that it carries. pyarrow raises an
    ArrowException, OSError or ValueError, here and when it reads a page, if the content is damaged
    or no Parquet file. Read with ``use_threads=False``, as ``table_in`` does.
    """
    start, tag, rest = content.rpartition(TAG)
    if tag and hashlib.sha256(start + rest[SIZE:]).digest() != rest[:SIZE]:
        raise ValueError("its bytes do not have the sum that it carries")
    return parquet.ParquetFile(pa.BufferReader(content), page_checksum_verification=True, **options)


def table_in(content: bytes) -> pd.DataFrame:
    """The table in a Parquet file with this content; see ``opened``.

    It is read without threads of Arrow, which pandas would use: a process that ends while such a
    thread runs is aborted (https://github.com/apache/arrow/issues/34314).
    """
    return opened(content).read(use_threads=False).to_pandas(use_threads=False)
