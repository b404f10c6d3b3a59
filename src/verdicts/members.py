"""What an archive may contain: its kinds of members, how they are packed, and how they are read.

It is an archive of ``verdicts archive`` or of ``ngo archive``: tables, claims, what made them.

A tar file without times, owners and compression, whose members are sorted by name: the same members
give the same bytes, so an archive is intact if packing its members again reproduces it.
``SHA256SUMS`` has the sums of the others, in the format of ``sha256sum``.

An archive may be a stranger's. Nothing of it runs, and other members and larger ones are refused.
JSON and tables are first read in a process with limited time and memory: a bomb, a crash or an
endless loop in a library ends that process alone. This process then reads the same bytes with the
same libraries.

The largest archive of the project has 11 MB in 38 members, with tables that take 570 MB when they
are decoded.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import lzma
import os
import re
import resource
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from verdicts.files import content_of, opened, write_together
from verdicts.registry import UserError, in_a_line

ABOUT = "archive.json"
SUMS = "SHA256SUMS"
MIB = 2**20

#: Bytes of an archive, and of each of its members that is compressed.
ARCHIVE = 128 * MIB

#: Members of an archive.
MEMBERS = 1000

#: Bytes of a text, and of a JSON file.
TEXT, JSON = MIB, 16 * MIB

#: Bytes of all records of runs, decompressed; of all tables, decoded; and of all tables of runs,
#: with numbers as text.
RECORDS_READ, TABLES, JOINED = 64 * MIB, 768 * MIB, 1024 * MIB

#: Columns of a table, and their types.
COLUMNS = 1000
TYPES = re.compile("double|float|bool|(large_)?string|null|u?int(8|16|32|64)")

#: Bytes of memory, and seconds, of the process that reads first.
MEMORY, SECONDS = 4096 * MIB, 120

#: For processes of Python: no imports from the working directory.
SAFE_PATH = {"PYTHONSAFEPATH": "1"}

#: One thread, so that the limit of memory is for data.
FEW = {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}

# By name in the archive, which is the path in the folder where it is unpacked.
Members = dict[str, bytes]


def read_json(text: bytes, most: int) -> int:
    """Raise a ValueError or a RecursionError for a key that occurs twice, or no finite number."""
    value = json.loads(text, object_pairs_hook=_mapping)
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    return 0


def _mapping(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(mapping := dict(pairs)) < len(pairs):
        raise ValueError("it has a key twice")
    return mapping


def read_records(content: bytes, most: int) -> int:
    """Raise a ValueError if compressed lines of JSON are truncated, too large, or no JSON."""
    decompressor = lzma.LZMADecompressor(memlimit=2 * RECORDS_READ)
    text = decompressor.decompress(content, max_length=RECORDS_READ)
    if not decompressor.eof or decompressor.unused_data:
        raise ValueError("it is truncated, or too large")
    return sum(read_json(line, most) for line in text.splitlines())


def read_table(content: bytes, most: int) -> int:
    """The memory that a table takes, in bytes.

    Raises a ValueError for more than ``most``, and for other columns than of numbers and text.
    """
    file = opened(content)
    schema, rows = file.schema_arrow, file.metadata.num_rows
    if len(schema) > COLUMNS or len({*schema.names}) < len(schema):
        raise ValueError("it has too many columns, or two of one name")
    if other := [field for field in schema if not TYPES.fullmatch(str(field.type))]:
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


@dataclass(frozen=True)
class Kind:
    """A kind of members."""

    #: A regular expression of their names.
    names: str
    #: The most bytes that one may have.
    bound: int
    #: ``read(content, most)`` returns how many bytes of tables it has when it is decoded, at most
    #: ``most``; it raises any error if it can't be read. A text is not decoded here.
    read: Callable[[bytes, int], int] = lambda content, most: 0


_NAME = r"\w[\w.+-]*"
_FILE = rf"(?:{_NAME}/)*{_NAME}\."  # neither hidden, nor absolute, nor outside

#: The sources of the workflow: provenance, which is never run.
SOURCES = Kind(rf"Snakefile|workflow/(?:Snakefile|rules/{_NAME}\.smk)", TEXT)

#: All kinds; a member is of the first that its name matches.
KINDS = (
    Kind(SUMS, TEXT),
    SOURCES,
    Kind(f"{_FILE}json", JSON, read_json),
    Kind(f"{_FILE}jsonl\\.xz", ARCHIVE, read_records),
    Kind(f"{_FILE}parquet", ARCHIVE, read_table),
    # Configs, claims, verdicts, tables, graphs, plugins and scripts, a paper's numbers.
    Kind(f"{_FILE}(?:yaml|yml|csv|txt|edgelist|graphml|gml|py)", TEXT),
)


def kind_of(name: str) -> Kind:
    """The kind of the member ``name``; a UserError if no archive has such a member."""
    for kind in KINDS:
        if re.fullmatch(kind.names, name):
            return kind
    raise UserError(f"{name[:200]!r} is no part of an archive")


def sha256(content: bytes) -> str:
    """The SHA-256 of ``content``, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def tar_of(members: Members) -> bytes:
    """The archive of ``members``: the sums, then the members sorted by name."""
    ordered = dict(sorted(members.items()))
    sums = "".join(f"{sha256(content)}  {name}\n" for name, content in ordered.items())
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in {SUMS: sums.encode(), **ordered}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return file.getvalue()


def members_of(content: bytes) -> Members:
    """The members of an archive, without the sums; a UserError for the first fault in it."""
    try:
        members = _files(content)
    except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
        why = in_a_line(error)
        raise UserError(f"it is not a metrics archive, or it is truncated ({why})") from None
    if not {SUMS, ABOUT} <= members.keys():
        raise UserError(f"it has no {SUMS}, or no {ABOUT}: it is not a metrics archive")
    del members[SUMS]
    if (packed := tar_of(members)) != content:
        sums = f"expected sha256 {sha256(packed)}, found {sha256(content)}"
        raise UserError(f"it differs from an archive of its members ({sums})")
    read_apart(content)
    return members


def _files(content: bytes) -> Members:
    """The files of a tar file: regular ones, of allowed names and sizes."""
    members: Members = {}
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as file:
        for entry in file:
            if entry.size > (most := kind_of(name := entry.name).bound):
                raise UserError(f"{name!r} has {entry.size} bytes; at most {most} are allowed")
            if entry.type != tarfile.REGTYPE or entry.issparse() or name in members:
                raise UserError(f"{name!r} is not a regular file, or occurs twice")
            if len(members) == MEMBERS:
                raise UserError(f"it has more than {MEMBERS} files")
            members[name] = file.extractfile(entry).read()  # type: ignore[union-attr] # a file
    folders = {str(folder) for name in members for folder in PurePosixPath(name).parents}
    if len({name.casefold() for name in (*members, *folders)}) < len(members) + len(folders):
        raise UserError("two of its files and folders have one name")
    return members


def read_apart(content: bytes) -> None:
    """Read the members of a tar file in another process; a UserError if one can't be read."""
    how: Any = {"env": {**os.environ, **FEW}, "capture_output": True, "timeout": SECONDS}
    try:
        answer = subprocess.run([sys.executable, "-P", "-m", __name__], input=content, **how)
    except subprocess.TimeoutExpired:
        raise UserError(f"it can't be read in {SECONDS} seconds") from None
    if answer.returncode == 1 and answer.stdout:
        raise UserError(answer.stdout.decode(errors="replace"))
    if answer.returncode:
        raise UserError(f"it can't be read: it ended the process that did ({answer.returncode})")


@contextlib.contextmanager
def refusing(path: str | Path, reason: str = "{}") -> Iterator[None]:
    """Within it, a UserError is the ``reason`` why an archive is refused."""
    try:
        yield
    except UserError as error:
        why = reason.format(str(error).rstrip("."))
        raise UserError(f"archive: {str(path)!r} is refused: {why}.") from None


def read(path: str | Path) -> Members:
    """The members of the archive at ``path``; a UserError that names the first fault in it."""
    content = content_of(Path(path), "archive", ARCHIVE)
    with refusing(path):
        return members_of(content)


def write_archive(path: str | Path, files: Members) -> str:
    """Write an archive of ``files``, by name; returns its SHA-256."""
    content = tar_of(files)
    write_together(Path(path).parent, {Path(path).name: content}, ())
    return sha256(content)


def inside(key: str, file: str) -> str:
    """The name in an archive of a ``file`` that is named under ``key``.

    Raises a UserError for a file outside the working directory.
    """
    path = PurePosixPath(os.path.normpath(file))
    if path.is_absolute() or ".." in path.parts:
        fault = "is outside the working directory; an archive can't contain it"
        raise UserError(f"{key}: {file!r} {fault}.")
    return str(path)


def write_members(folder: Path, members: Members) -> None:
    """Write members as files below ``folder``; a file that is there is kept."""
    for name, content in members.items():
        if not (target := folder / name).exists():
            write_together(target.parent, {target.name: content}, ())


def _main() -> None:
    """Read the members of the tar file on standard input; print why one can't be read."""
    with contextlib.suppress(ValueError, OSError):  # a lower limit holds, or there is none
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    left, name = TABLES, ""
    try:
        for name, content in _files(sys.stdin.buffer.read()).items():
            left -= kind_of(name).read(content, left)
    except Exception as error:  # whatever a library raises for a damaged file
        why = in_a_line(error)[:200] or type(error).__name__
        print(f"{name!r} can't be read ({why})", end="", flush=True)
        os._exit(1)
    os._exit(0)  # a library's threads may abort a process that ends in the usual way


if __name__ == "__main__":
    _main()
