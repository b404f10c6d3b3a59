"""Lock files, each with one holder at a time. The system drops a lock when its process ends.

A lock may be acquired in one thread and released in another.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.common.paths import writable_folder
from ngo.common.registry import UserError

if TYPE_CHECKING:
    from filelock import FileLock


LOG = logging.getLogger("ngo")

# Errors of a file system without locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


def try_lock(path: str | Path) -> FileLock | None:
    """Acquire the lock file ``path``; None if another process holds it.

    The caller keeps the returned lock until ``release()``. On a file system without locks it
    excludes nobody, and a warning says so. Raises a UserError if the file can't be locked for
    another reason.
    """
    from filelock import FileLock, Timeout

    # No lock that is the mere existence of a file: it would outlive a kill.
    lock = FileLock(path, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise UserError(f"{path}: it can't be locked: {error.strerror}") from None
        LOG.warning(
            "ngo: %s: this file system has no locks (%s); start one process at a time in this "
            "folder.",
            path,
            error.strerror,
        )
    return lock


def exclusive_lock(path: str | Path) -> FileLock:
    """Acquire the lock file ``path``, as ``try_lock``; a UserError if another process holds it."""
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
