"""Registering the claims of a file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from verdicts.claims.claim import ClaimsFile
from verdicts.claims.claims_file import read_claims
from verdicts.registration.registered import (
    Registration,
    added,
    read_registration,
    registration_path,
    written,
)
from verdicts.registration.revisions import Content, as_it_is, from_history, revision
from verdicts.registry import UserError


def register(
    path: Path,
    out: Path | None = None,
    *,
    history: bool = False,
    read: Callable[[Path], ClaimsFile] = read_claims,
    present: Callable[[Content], Content] = as_it_is,
) -> tuple[Path, int, int]:
    """Add the present forms of the claims in a file to its registration.

    With ``history``, a new registration has the forms of its earlier revisions, too (``present``:
    see ``from_history``). Returns the path of the registration, the number of claims, and how many
    of them are new or changed. Raises a UserError in one line.
    """
    claims = read(path)
    place = registration_path(path) if out is None else out
    known = read_registration(place)
    if history and known is not None:
        raise UserError(f"history: {str(place)!r} is there; remove it, or add to it without.")
    earlier: Registration = from_history(path, present) if history else known or {}
    now = datetime.now(UTC).replace(microsecond=0)
    found, new = added(earlier, claims.forms, now, revision(path.parent))
    try:
        place.write_text(written(found), encoding="utf-8")
    except OSError as error:
        raise UserError(f"out: {str(place)!r}: {error.strerror}.") from None
    return place, len(claims.claims), len(new)
