"""Paths of users, files that appear whole or not at all, and lock files.

A lock file has one holder at a time. The system drops a lock when its process ends. A lock may be
acquired in one thread and released in another.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ngo.common.lazy import filelock
from verdicts.files import content_of, readable, regular_file
from verdicts.registry import UserError, in_a_line, shown


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
    with readable(path, key):
        path.open("rb").close()
    return path


@contextmanager
def reading(fault: str) -> Iterator[None]:
    """Within it, whatever a library raises for a damaged file is a UserError with the ``fault``."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{fault}: {in_a_line(error)}") from None


def found(path: str | Path) -> Path:
    """A path of the repository, also for a notebook that is opened in a folder inside it."""
    here = [Path(), *Path.cwd().parents]
    return next((folder / path for folder in here if (folder / path).exists()), Path(path))


def read_limited(path: Path, key: str, limit: int) -> str:
    """The text of a regular UTF-8 file of at most ``limit`` bytes; else a UserError."""
    try:
        return content_of(path, key, limit).decode()
    except UnicodeDecodeError:
        raise UserError(f"{key}: {str(path)!r} can't be read: it is not text in UTF-8.") from None


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
        reason = error.strerror or error
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
        reason = error.strerror or error
        raise UserError(f"{key}: the folder {str(path)!r} can't be written to: {reason}") from None
    return path


def hashed(text: str) -> str:
    """16 hex digits of a text, for names and keys."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# The prefix of unfinished files, also of killed processes.
PARTIAL = ".ngo-"

# Errors of a full disk, an exceeded quota, and an exceeded limit on file sizes.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def atomic_file(path: str | Path, key: str = "out") -> Iterator[Path]:
    """Yield a temporary path, which is renamed to ``path`` if the block raises no error.

    Both paths are in the same folder. The temporary name keeps the suffix, because some writers
    (matplotlib's, for example) choose the format by it. If ``path`` is a link, the link's target is
    replaced. Raises a UserError, under ``key``, if the disk is full, or if ``path`` is a folder or
    a device.
    """
    path = Path(path)
    path = path.resolve() if path.is_symlink() else path
    check_kind(path, key)
    folder = writable_folder(path.parent, key)
    handle, name = tempfile.mkstemp(prefix=f"{PARTIAL}{path.name}.", suffix=path.suffix, dir=folder)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except OSError as error:
        if error.errno not in FULL:
            raise
        reason = os.strerror(error.errno)
        raise UserError(f"{key}: {str(path)!r} can't be written: {reason}") from None
    finally:
        temporary.unlink(missing_ok=True)


def remove_partial(folder: str | Path, *names: str) -> None:
    """Remove partial files of killed processes in a folder: of all files, or of those ``names``.

    No process may be writing them now.
    """
    for name in names or ("",):
        for path in Path(folder).glob(f"{PARTIAL}{name}*"):
            if path.is_file():
                path.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically."""
    write_bytes(path, text.encode())


def write_changed(path: str | Path, text: str) -> None:
    """Write a text file atomically, unless it has this text."""
    path = Path(path)
    if not path.exists() or path.read_bytes() != text.encode():
        write_text(path, text)


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file atomically."""
    with atomic_file(path) as temporary:
        temporary.write_bytes(content)


LOG = logging.getLogger("ngo")

# Errors of a file system without locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


def try_lock(path: str | Path) -> filelock.FileLock | None:
    """Acquire the lock file ``path``; None if another process holds it.

    The caller keeps the returned lock until ``release()``. On a file system without locks it
    excludes nobody, and a warning says so. Raises a UserError if the file can't be locked for
    another reason.
    """
    # No lock that is the mere existence of a file: it would outlive a kill.
    lock = filelock.FileLock(path, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        return None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise UserError(f"{path}: it can't be locked: {error.strerror}") from None
        advice = "start one process at a time in this folder"
        fault = f"this file system has no locks ({error.strerror})"
        LOG.warning("ngo: %s: %s; %s.", path, fault, advice)
    return lock


def exclusive_lock(path: str | Path) -> filelock.FileLock:
    """Acquire the lock file ``path``, as ``try_lock``; a UserError if another process holds it."""
    writable_folder(Path(path).parent)
    if (lock := try_lock(path)) is None:
        fault = "another process is working in this folder"
        raise UserError(f"{path}: {fault}; wait for it, or stop it.")
    return lock


@contextmanager
def file_lock(path: str | Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file ``path`` in this block, and remove the file at its end.

    If another process holds the lock, calls ``on_wait`` once and waits. On a file system without
    locks the block runs unlocked.
    """
    path, lock = Path(path), filelock.FileLock(path, thread_local=False)
    with suppress(OSError):  # no locks here
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            on_wait()
            lock.acquire()
    try:
        yield
    finally:
        with suppress(OSError):  # a read-only file system
            path.unlink(missing_ok=True)
        lock.release()
