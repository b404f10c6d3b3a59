"""Files appear whole or not at all."""

import errno
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from ngo.registry import UserError

# The names of files that are being written begin so; those that a kill left behind, too.
PARTIAL = ".ngo-"

# A disk, a quota or a limit on files is full.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def whole_file(path: str | Path, key: str = "out") -> Iterator[Path]:
    """A temporary path beside ``path`` that becomes ``path`` when the block ends without an error.

    The temporary name keeps the suffix, since writers (matplotlib, for one) choose a format by it.
    Raises a UserError, under ``key``, where there is no room for the file, or a folder or device
    has its name. A link stays, and what it leads to is replaced.
    """
    path = Path(path)
    path = path.resolve() if path.is_symlink() else path
    _check_kind(path, key, folder=False)
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


def sweep(path: str | Path) -> None:
    """Remove what a killed process left of :func:`whole_file`; nobody else may be writing there."""
    path = Path(path)
    for left in path.parent.glob(f"{PARTIAL}{path.name}.*{path.suffix}"):
        left.unlink(missing_ok=True)


def clear_partial(folder: str | Path) -> None:
    """Remove what killed processes left half-written in the folders of ``folder``, and in theirs;
    none may be at work there.
    """
    for pattern in (f"*/{PARTIAL}*", f"*/*/{PARTIAL}*"):
        for path in Path(folder).glob(pattern):
            if path.is_file():
                path.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check_place(path: str | Path, key: str = "out", *, folder: bool = False) -> Path:
    """``path``, if a file (or a ``folder``) can be written there; a UserError, under ``key``, if
    not. Nothing is made.
    """
    path = named_path(path, key)
    try:
        _check_kind(path, key, folder)
        place = path if folder else path.parent
        while not place.exists():
            place = place.parent
        tempfile.TemporaryFile(dir=place).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"{key}: {str(path)!r} can't be written: {reason}") from None
    return path


def readable_file(path: str | Path, key: str) -> Path:
    """``path``, if it is a file that can be read; a UserError, under ``key``, if not."""
    path = named_path(path, key)
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # to open a pipe is to wait for its writer
            path.open("rb").close()
        elif not stat.S_ISFIFO(mode):
            raise UserError(f"{key}: {str(path)!r} is no file.")
    except OSError as error:
        raise UserError(f"{key}: {str(path)!r} can't be read: {error.strerror}") from None
    return path


def named_path(path: str | Path, key: str) -> Path:
    """``path``; a UserError, under ``key``, if it is empty, as an unset variable is, or no text."""
    try:
        if os.fspath(path).encode():
            return Path(path)
        reason = "is no path; it is empty"
    except UnicodeEncodeError:
        reason = "is not UTF-8"
    raise UserError(f"{key}: {os.fspath(path)!r} {reason}.")


def _check_kind(path: Path, key: str, folder: bool) -> None:
    """Raise a UserError if something else than a file (or a ``folder``) is at ``path``."""
    kind, right = ("folder", path.is_dir()) if folder else ("file", path.is_file())
    if path.exists() and not right:
        raise UserError(f"{key}: {str(path)!r} is there, and is no {kind}; name another path.")


def writable_folder(path: str | Path, key: str = "out", room: int = 0) -> Path:
    """The folder at ``path``, made if it is not there; a UserError if it can't be written to, or
    has no room for as many bytes.
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


def try_hold(path: str | Path) -> IO[str] | None:
    """Hold the lock file at ``path`` for as long as the returned file is open; None if another
    process holds it.

    The system drops the lock when the process ends, however it ends.
    """
    path = Path(path)
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def hold(path: str | Path) -> IO[str]:
    """:func:`try_hold`, with a UserError if another process holds the lock."""
    writable_folder(Path(path).parent)
    file = try_hold(path)
    if file is None:
        raise UserError(
            f"{path}: another process is at work in this folder; wait for it, or stop it."
        )
    return file


@contextmanager
def held(path: str | Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file at ``path`` until the block ends, and remove it then.

    ``waiting`` is called once if another process holds it: this one waits for that to end. On a
    file system without locks nothing is held.
    """
    path, told = Path(path), False
    with ExitStack() as stack:
        try:
            while not _is_at(path, file := try_hold(path)):
                if file is not None:  # whoever held it has removed it
                    file.close()
                    continue
                if not told:
                    waiting()
                    told = True
                time.sleep(0.1)
            stack.enter_context(file)
        except OSError:
            pass
        stack.callback(path.unlink, missing_ok=True)
        yield


def _is_at(path: Path, file: IO[str] | None) -> bool:
    """Whether the open ``file``, if there is one, still is the one at ``path``."""
    try:
        return file is not None and os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
