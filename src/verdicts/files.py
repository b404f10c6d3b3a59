"""Files that a stranger may have made, and files that appear whole."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from verdicts.registry import UserError


def regular_file(path: Path, key: str, most: int | None = None) -> Path:
    """``path``; a UserError, under ``key``, if it is no regular file, or has over ``most`` bytes.

    Opening a pipe may block for ever, and a device may have no end.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise UserError(f"{key}: {str(path)!r} does not exist.") from None
    except (OSError, ValueError) as error:  # a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{key}: {str(path)!r} can't be read: {reason}.") from None
    if not stat.S_ISREG(found.st_mode):
        raise UserError(f"{key}: {str(path)!r} can't be read: it is not a regular file.")
    if most is not None and found.st_size > most:
        raise UserError(f"{key}: {str(path)!r} has {found.st_size:,} bytes; at most {most:,}.")
    return path


def write_together(folder: Path, contents: Mapping[str, str], inputs: Iterable[Path]) -> None:
    """Write files, by name, to ``folder``: all of them whole, or none, and none over an input.

    Raises a UserError under the key ``out``.
    """
    known = [path for path in inputs if path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for target in (folder / name for name in contents):
            if os.path.lexists(target) and not target.is_file():
                raise UserError(f"out: {str(target)!r} is there, and is not a regular file.")
            if target.exists() and any(target.samefile(path) for path in known):
                raise UserError(f"out: {str(target)!r} is what is read; choose another folder.")
        with tempfile.TemporaryDirectory(prefix=".verdicts-", dir=folder) as waiting:
            for name, content in contents.items():
                Path(waiting, name).write_bytes(content.encode())
            for name in contents:
                Path(waiting, name).replace(folder / name)
    except OSError as error:
        raise UserError(f"out: {str(folder)!r}: {error.strerror}.") from None
