"""Checks of paths that a user names."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ngo.common.registry import UserError, shown
from verdicts.files import regular_file


def check_path(path: str | Path, key: str) -> Path:
    """Return ``path``; raise a UserError, under ``key``, if it is not text, empty, has a NUL or is
    not valid UTF-8.

    An empty path is usually a shell variable that is not set.
    """
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise UserError(f"{key}: {shown(path)} is not a path.")
    try:
        if text.encode() and "\0" not in text:
            return Path(path)
        reason = "is not a path; it has a NUL" if text else "is not a path; it is empty"
    except UnicodeEncodeError:
        reason = "is not UTF-8"
    raise UserError(f"{key}: {text!r} {reason}.")


def check_readable(path: str | Path, key: str, most: int | None = None) -> Path:
    """Return ``path``; raise a UserError, under ``key``, if it is not a readable regular file.

    A file of more than ``most`` bytes is refused too.
    """
    path = regular_file(check_path(path, key), key, most)
    try:
        path.open("rb").close()
    except OSError as error:
        raise UserError(f"{key}: {str(path)!r} can't be read: {error.strerror}.") from None
    return path


def same_file(path: str | Path, other: str | Path) -> bool:
    """Whether two paths are of one file, which need not exist yet."""
    try:
        return os.path.samefile(path, other)
    except OSError:
        return os.path.realpath(path) == os.path.realpath(other)


def check_writable(path: str | Path, key: str = "out", *, folder: bool = False) -> Path:
    """Return ``path``, made absolute: a plugin may change the working folder before it is written.

    Raises a UserError, under ``key``, if no file (or ``folder``) can be written there. Creates
    nothing.
    """
    path = check_path(path, key)
    try:
        check_kind(path, key, folder)
        existing = path if folder else path.parent
        while not existing.exists():
            existing = existing.parent
        tempfile.TemporaryFile(dir=existing).close()
        return path.absolute()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"{key}: {str(path)!r} can't be written: {reason}") from None


def check_kind(path: Path, key: str, folder: bool = False) -> None:
    """Raise a UserError if ``path`` exists and is not a file (or not a ``folder``)."""
    kind, right = ("folder", path.is_dir()) if folder else ("file", path.is_file())
    if path.exists() and not right:
        raise UserError(f"{key}: {str(path)!r} exists and is not a {kind}; choose another path.")


def writable_folder(path: str | Path, key: str = "out", room: int = 0) -> Path:
    """Create the folder ``path`` if needed, and return it.

    Raises a UserError, under ``key``, if files cannot be created in it, or if the disk has no room
    for ``room`` more bytes.
    """
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(bytes(room))
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"{key}: the folder {str(path)!r} can't be written to: {reason}") from None
    return path
