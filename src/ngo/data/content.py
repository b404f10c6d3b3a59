"""What files contain, as one digest, which is computed again only if a file has changed."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from ngo.common.files import write_text
from ngo.common.registry import UserError

_log = logging.getLogger("ngo")


def content_digest(place: Path, files: Sequence[str] = ()) -> str:
    """The SHA-256 of a file; or of some ``files`` of a folder, their names included, in this order.

    It is kept beside the file or folder, with the sizes and modification times of the files; if it
    cannot be written there, it is computed each time.
    """
    kept = place.with_name(f".{place.name}.sha256")
    paths = [place / name for name in files] or [place]
    stamp = _stamp(paths, files)
    try:
        known, found = kept.read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        known = found = ""
    if known == stamp:
        return found
    found = _digest(paths, files)
    try:
        write_text(kept, f"{stamp} {found}\n")
    except (OSError, UserError) as error:
        _log.warning(f"{place.name}: its digest is not kept: {error}")
    return found


def _digest(paths: Sequence[Path], names: Sequence[str]) -> str:
    digest = hashlib.sha256()
    if not names:
        with paths[0].open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    for path, name in zip(paths, names, strict=True):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{content}  {name}\n".encode())
    return digest.hexdigest()


def _stamp(paths: Sequence[Path], names: Sequence[str]) -> str:
    """A digest of the files' names, sizes and modification times."""
    facts = ((path, os.stat(path)) for path in paths)
    lines = (f"{path.name} {fact.st_size} {fact.st_mtime_ns}\n" for path, fact in facts)
    return hashlib.sha256("".join([*lines, *names]).encode()).hexdigest()
