"""The most that an archive may contain, and its first reading.

A larger one is refused. JSON and tables are first read in a process with limited time and memory: a
bomb, a crash or an endless loop in a library ends that process alone. This process then reads the
same bytes with the same libraries.

The largest archive of the project has 11 MB in 38 members, with tables that take 570 MB when they
are decoded.
"""

from __future__ import annotations

import contextlib
import io
import json
import lzma
import os
import resource
import subprocess
import sys
import tarfile

from ngo.common.registry import UserError, in_a_line
from verdicts.parquet_files import opened

MIB = 2**20

#: Bytes of an archive, and of all its members.
ARCHIVE = 128 * MIB

#: Members of an archive.
MEMBERS = 1000

#: Bytes of a text: a config, claims, a plugin, a file that a run names.
TEXT = MIB

#: Bytes of a JSON file that describes the whole archive.
JSON = 16 * MIB

#: Bytes of all records of runs, decompressed.
RECORDS = 64 * MIB

#: Bytes of all tables, decoded.
TABLES = 768 * MIB

#: Bytes of all tables of runs, with numbers as text.
JOINED = 1024 * MIB

#: Columns of a table.
COLUMNS = 1000

#: Bytes of memory, and seconds, of the process that reads first.
MEMORY, SECONDS = 4096 * MIB, 120


#: Types of the columns of a table.
TYPES = ("double", "float", "bool", "string", "large_string", "null",
         *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))  # fmt: skip

#: For processes of Python: no imports from the working directory.
SAFE_PATH = {"PYTHONSAFEPATH": "1"}

#: One thread, so that the limit of memory is for data.
FEW = {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}


def read_apart(content: bytes) -> None:
    """Raise a UserError, without a key, unless JSON and tables of a tar file can be read."""
    command = [sys.executable, "-P", "-m", __name__]
    variables = {**os.environ, **FEW}
    try:
        answer = subprocess.run(
            command, input=content, env=variables, capture_output=True, check=False,
            timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise UserError(f"it can't be read in {SECONDS} seconds") from None
    if answer.returncode == 1 and answer.stdout:
        raise UserError(answer.stdout.decode(errors="replace"))
    if answer.returncode:
        raise UserError(f"it can't be read: it ended the process that did ({answer.returncode})")


def strict_json(text: bytes) -> object:
    """The value of a JSON text in which no key occurs twice and every number is finite.

    Raises a ValueError or a RecursionError for any other.
    """
    value = json.loads(text, object_pairs_hook=_mapping)
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    return value


def _mapping(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(mapping := dict(pairs)) < len(pairs):
        raise ValueError("it has a key twice")
    return mapping


def records(content: bytes) -> list[bytes]:
    """The lines of compressed records; a ValueError if they are truncated or too large."""
    decompressor = lzma.LZMADecompressor(memlimit=2 * RECORDS)
    text = decompressor.decompress(content, max_length=RECORDS)
    if not decompressor.eof or decompressor.unused_data:
        raise ValueError("it is truncated, or too large")
    return text.splitlines()


def table_bytes(content: bytes, most: int) -> int:
    """The memory that a table takes, in bytes.

    Raises a ValueError for more than ``most``, and for other columns than of numbers and text.
    """
    file = opened(content)
    schema, rows = file.schema_arrow, file.metadata.num_rows
    if len(schema) > COLUMNS or len({*schema.names}) < len(schema):
        raise ValueError("it has too many columns, or two of one name")
    if other := [field for field in schema if str(field.type) not in TYPES]:
        raise ValueError(f"its column {other[0].name!r} is of the type {str(other[0].type)[:40]}")
    if schema.metadata:
        schema.empty_table().to_pandas()
    size = 8 * rows * len(schema)
    for name in schema.names if size <= most else ():
        column = file.read(columns=[name], use_threads=False)
        column.validate(full=True)
        size += max(0, column.nbytes - 8 * rows)
    if size > most:
        raise ValueError("it is too large when it is decoded")
    return size


def _main() -> None:
    """Read the members of the tar file on standard input; print why one can't be read."""
    with contextlib.suppress(ValueError, OSError):  # a lower limit holds, or there is none
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    left, name = TABLES, ""
    try:
        with tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read())) as file:
            for name in file.getnames():
                content = file.extractfile(name).read()
                if name.endswith(".parquet"):
                    left -= table_bytes(content, left)
                elif name.endswith(".xz"):
                    for line in records(content):
                        strict_json(line)
                elif name.endswith(".json") and "/" not in name:
                    strict_json(content)
    except Exception as error:  # whatever a library raises for a damaged file
        told = in_a_line(error)[:200] or type(error).__name__
        print(f"{name!r} can't be read ({told})", end="", flush=True)
        os._exit(1)
    os._exit(0)  # a library's threads may abort a process that ends in the usual way


if __name__ == "__main__":
    _main()
