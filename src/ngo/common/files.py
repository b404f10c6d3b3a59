"""Files that appear complete or not at all, and damaged products of the workflow."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ngo.common.paths import check_kind, writable_folder
from ngo.common.registry import UserError

# The prefix of files that are being written, or that a killed process left.
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


def remove_partial(path: str | Path) -> None:
    """Remove partial files of ``path`` from killed processes. No process may be writing it now."""
    path = Path(path)
    for partial in path.parent.glob(f"{PARTIAL}{path.name}.*{path.suffix}"):
        partial.unlink(missing_ok=True)


def remove_all_partial(folder: str | Path) -> None:
    """Remove partial files one and two levels below ``folder``. No process may be writing there."""
    for pattern in (f"*/{PARTIAL}*", f"*/*/{PARTIAL}*"):
        for path in Path(folder).glob(pattern):
            if path.is_file():
                path.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def removed_if_damaged(path: str | Path) -> Iterator[None]:
    """Remove the file ``path`` if the block, which reads it, raises a UserError; raise another."""
    try:
        yield
    except UserError as error:
        Path(path).unlink(missing_ok=True)
        raise UserError(
            f"{error} The file is removed; the same snakemake command makes it again."
        ) from None
