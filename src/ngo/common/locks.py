"""Lock files, one holder at a time. The system drops a lock when its process ends, however it ends.

A lock can be released in another thread than the one that acquired it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.common.paths import writable_folder
from ngo.common.registry import UserError

if TYPE_CHECKING:
    from filelock import FileLock


def try_lock(path: str | Path) -> FileLock | None:
    """Acquire the lock file ``path``; None if another process holds it.

    The caller keeps the returned lock until ``release()``.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return None
    return lock


def exclusive_lock(path: str | Path) -> FileLock:
    """Acquire the lock file ``path``; a UserError if another process holds it."""
    writable_folder(Path(path).parent)
    lock = try_lock(path)
    if lock is None:
        raise UserError(
            f"{path}: another process is working in this folder; wait for it, or stop it."
        )
    return lock


@contextmanager
def file_lock(path: str | Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file ``path`` in this block, and remove the file at its end.

    If another process holds the lock, calls ``on_wait`` once and waits. On a file system without
    locks the block runs unlocked.
    """
    from filelock import FileLock, Timeout

    path, lock = Path(path), FileLock(path, thread_local=False)
    with suppress(OSError):  # no locks here
        try:
            lock.acquire(blocking=False)
        except Timeout:
            on_wait()
            lock.acquire()
    try:
        yield
    finally:
        with suppress(OSError):  # a read-only file system
            path.unlink(missing_ok=True)
        lock.release()
