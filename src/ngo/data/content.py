"""One digest of the content of files, computed again only if a file has changed."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from ngo.common.files import write_text
from ngo.common.limits import read_limited
from ngo.common.registry import UserError
from verdicts.files import regular_file

_log = logging.getLogger("ngo")


def content_digest(place: Path, files: Sequence[str] = ()) -> str:
    """The SHA-256 of a file; or of some ``files`` of a folder, their names included, in this order.

    It is kept in a file next to ``place``, with a ``stamp`` of the files. If that file cannot be
    written, the digest is computed each time. A UserError if one of the files is not regular.
    """
    kept = place.with_name(f".{place.name}.sha256")
    paths = [place / name for name in files] or [place]
    for path in paths:
        regular_file(path, "data.root")
    now = stamp(paths, files)
    try:
        known, found = read_limited(kept, "data.root", 200).split()
    except (UserError, ValueError):
        known = found = ""
    if known == now:
        return found
    found = _digest(paths, files)
    try:
        write_text(kept, f"{now} {found}\n")
    except (OSError, UserError) as error:
        _log.warning(f"{place.name}: its digest is not kept: {error}")
    return found


def _digest(paths: Sequence[Path], names: Sequence[str]) -> str:
    digests = []
    for path in paths:
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    if not names:
        return digests[0]
    lines = (f"{digest}  {name}\n" for digest, name in zip(digests, names, strict=True))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def stamp(paths: Sequence[Path], names: Sequence[str] = ()) -> str:
    """A digest of the files' names and sizes, and of the times when they were last changed.

    A file may come with any ``st_mtime``, but nobody can choose its ``st_ctime``. A stamp that came
    with the files is therefore wrong, and the digest that was kept with it is not used.
    """
    facts = ((path, os.stat(path)) for path in paths)
    lines = (
        f"{path.name} {fact.st_size} {fact.st_mtime_ns} {fact.st_ctime_ns}\n"
        for path, fact in facts
    )
    return hashlib.sha256("".join([*lines, *names]).encode()).hexdigest()
