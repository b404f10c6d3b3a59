"""Files appear whole or not at all."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ngo.registry import UserError


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that becomes ``path`` when the block ends without an error.

    The temporary name keeps the suffix, since writers (matplotlib, for one) choose a format by it.
    """
    path = Path(path)
    handle, name = tempfile.mkstemp(
        prefix=".", suffix=path.suffix, dir=writable_folder(path.parent)
    )
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def writable_folder(path: str | Path, key: str = "out") -> Path:
    """The folder at ``path``, made if it is not there; a UserError if it can't be written to."""
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
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
