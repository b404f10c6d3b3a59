"""Metrics archives: everything that tables and figures are made from, in one verified file.

An archive is an uncompressed tar file of finished runs, measurements, configs, plugins and the
paper's numbers (see ``collect``); it contains no weights. ``archive.json`` describes it;
``SHA256SUMS`` lists the sums of all other members in the format of ``sha256sum``. Archives are
deterministic: the same members give the same bytes, so an archive is intact if packing its members
reproduces it.

An archive may be a stranger's: reading and unpacking one runs nothing of it, and takes memory in
proportion to ``limits``.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ngo.common.files import atomic_file
from ngo.common.former import present
from ngo.common.paths import check_readable
from ngo.common.registry import UserError, in_a_line
from ngo.pipeline.archives import limits, packed_runs
from ngo.pipeline.archives.archive_description import described
from ngo.pipeline.archives.first_reading import read_apart
from ngo.pipeline.archives.members import ABOUT, SUMS, check_member
from ngo.pipeline.archives.packed_runs import FinishedRun

if TYPE_CHECKING:
    import pandas as pd

# The key of ``archive.json`` that marks an archive as made by an earlier revision, which it names.
OLDER = "older"

# By name in the archive, which is the path in the folder where it is unpacked.
Members = dict[str, bytes]


@dataclass(frozen=True)
class Archive:
    """The members of an archive; what they say is checked when it is first asked for."""

    path: str | Path
    members: Members

    @cached_property
    def about(self) -> dict:
        """What ``archive.json`` says; a UserError if it is no description of the members."""
        with refusing(self.path, f"{ABOUT} can't be read ({{}})"):
            return described(self.members)

    @cached_property
    def runs(self) -> dict[str, FinishedRun]:
        """The finished runs by id; a UserError if there are none, or if they are damaged."""
        with refusing(self.path):
            return packed_runs.unpacked(self.members)

    def table(self, name: str) -> pd.DataFrame:
        """The table of this name, with present names of columns (``ngo.common.former``)."""
        import pandas as pd

        with refusing(self.path, f"{name!r} can't be read ({{}})"):
            try:
                table = pd.read_parquet(io.BytesIO(self.members[name])).rename(columns=present)
            except Exception as error:  # whatever pandas raises
                raise UserError(in_a_line(error)) from None
            if not table.columns.is_unique:
                raise UserError("it has one column under two names")
        return table


def write_archive(path: str | Path, members: Members) -> str:
    """Write an archive of ``members``; returns its SHA-256."""
    content = tar_of(members)
    with atomic_file(path) as temporary:
        temporary.write_bytes(content)
    return sha256(content)


def read_archive(path: str | Path) -> Archive:
    """The archive at ``path``; a UserError that names the first fault in it."""
    content = content_of(Path(path), limits.ARCHIVE)
    with refusing(path):
        try:
            members = _members(content)
        except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
            told = in_a_line(error)
            raise UserError(f"it is not a metrics archive, or it is truncated ({told})") from None
        if not {SUMS, ABOUT} <= members.keys():
            raise UserError(f"it has no {SUMS}, or no {ABOUT}: it is not a metrics archive")
        _check_sums(members.pop(SUMS), members)
        if (packed := tar_of(members)) != content:
            raise UserError(
                f"it differs from an archive of its members (expected sha256 {sha256(packed)}, "
                f"found {sha256(content)})"
            )
        read_apart(content)
    return Archive(path, members)


@contextmanager
def refusing(path: str | Path, reason: str = "{}") -> Iterator[None]:
    """Within it, a UserError is the ``reason`` why an archive is refused."""
    try:
        yield
    except UserError as error:
        told = reason.format(str(error).rstrip("."))
        raise UserError(f"archive: {str(path)!r} is refused: {told}.") from None


def tar_of(members: Members) -> bytes:
    """The archive of ``members``: the sums, then the members sorted by name.

    It has no times and no owners. It is not compressed, since its large members are.
    """
    ordered = dict(sorted(members.items()))
    sums = "".join(f"{sha256(content)}  {name}\n" for name, content in ordered.items())
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in {SUMS: sums.encode(), **ordered}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return file.getvalue()


def _members(content: bytes) -> Members:
    """The members of a tar file, which may have regular files of allowed names and sizes only."""
    members: Members = {}
    left = limits.ARCHIVE
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as file:
        for entry in file:
            check_member(entry.name, entry.size)
            left -= entry.size
            if entry.type != tarfile.REGTYPE or entry.name in members:
                raise UserError(f"{entry.name!r} is not a regular file, or occurs twice")
            if left < 0 or len(members) == limits.MEMBERS:
                raise UserError(f"it has more than {limits.MEMBERS} files, or is too large")
            members[entry.name] = file.extractfile(entry).read()
    folders = {str(folder) for name in members for folder in PurePosixPath(name).parents}
    if len({name.casefold() for name in (*members, *folders)}) < len(members) + len(folders):
        raise UserError("two of its files and folders have one name")
    return members


def _check_sums(sums: bytes, members: Members) -> None:
    """Raise a UserError for a member that is missing, changed or not among the ``sums``."""
    lines = sums.decode().splitlines()
    wanted = {name: value for value, _, name in (line.partition("  ") for line in lines)}
    for name in sorted(wanted.keys() | members.keys()):
        found = sha256(members[name]) if name in members else None
        if found != wanted.get(name):
            raise UserError(
                f"{name!r} is not as in {SUMS} (expected sha256 {wanted.get(name)}, found {found})"
            )


def sha256(content: bytes) -> str:
    """The SHA-256 of ``content``, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def content_of(path: Path, most: int | None = None) -> bytes:
    """The bytes of a file, at most so many; a UserError if it can't be read."""
    return check_readable(path, "archive", most).read_bytes()
