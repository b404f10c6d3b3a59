"""The file that says when each claim was registered in which form, and what follows from it.

It is beside the claims file (``claims.registered.yaml`` for ``claims.yaml``), and is committed
before the runs. Nothing is ever removed from it: a changed claim has a further form with its date.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from subprocess import DEVNULL, SubprocessError, check_output
from typing import Any

from verdicts.claims.claim import ClaimsFile
from verdicts.claims.claims_file import read_claims
from verdicts.files import check_keys, mapping, read_mapping, text, write_together
from verdicts.registry import UserError, check, shown
from verdicts.table import Tables, joined, selected
from verdicts.verdict_rows import REGISTERED, Row

HEAD = """\
# When each claim was registered in each of its forms. A form is the hash of what decides the claim;
# words that are only printed do not count. The last form before the first run counts.
# `verdicts register` adds to this file.
"""


@dataclass(frozen=True)
class Entry:
    """A form of a claim, and when it was registered."""

    form: str
    date: datetime
    #: The revision of the sources at that time; empty if there was none.
    revision: str


#: The entries of each claim, by id and date.
Registration = Mapping[str, Sequence[Entry]]


def registration_path(claims: str | Path) -> Path:
    """Where the registration of a claims file is."""
    path = Path(claims)
    return path.with_name(f"{path.stem}.registered.yaml")


def read_registration(path: Path) -> Registration | None:
    """The registration in a file; None if there is no such file.

    Older files have ``designs``, too, which do not count. Raises a one-line UserError for the first
    mistake.
    """
    if not os.path.exists(path):  # also where the name is too long for a file
        return None
    content = read_mapping(path, "registered")
    check_keys("registered", content, ("claims", "designs"), ("claims",))
    forms = mapping("registered.claims", content["claims"])
    return {str(id): _entries(f"registered.claims.{id}", listed) for id, listed in forms.items()}


def _entries(key: str, value: Any) -> list[Entry]:
    check(isinstance(value, list) and value, key, value, "it must be a list of forms")
    return sorted((_entry(f"{key}[{k}]", e) for k, e in enumerate(value)), key=lambda e: e.date)


def _entry(key: str, value: object) -> Entry:
    values, hashes = mapping(key, value), {"form": "[0-9a-f]{64}", "revision": "[0-9a-f]{0,64}"}
    check_keys(key, values, (*hashes, "date"), (*hashes, "date"))
    for name, pattern in hashes.items():
        if not re.fullmatch(pattern, text(f"{key}.{name}", values[name])):
            raise UserError(f"{key}.{name}: {shown(values[name])} is no hash.")
    date = as_date(f"{key}.date", values["date"])
    return Entry(str(values["form"]), date, str(values["revision"]))


def as_date(key: str, value: object) -> datetime:
    """A date with a time zone, in ISO format; a UserError for another value."""
    with suppress(ValueError, OverflowError):
        date = datetime.fromisoformat(str(value))
        if date.tzinfo is not None:
            return date.astimezone(UTC)
    told = "is not allowed; give a date like 2026-01-31T12:00:00+00:00."
    raise UserError(f"{key}: {shown(value)} {told}")


def register(path: Path, out: Path | None = None) -> tuple[Path, int, int]:
    """Add the present forms of the claims in a file to its registration, whole or not at all.

    Returns the path of the registration, the number of claims, and how many of them are new or
    changed. Raises a UserError in one line.
    """
    claims = read_claims(path)
    place = registration_path(path) if out is None else out
    known = read_registration(place) or {}
    last = {id: entries[-1].form for id, entries in known.items()}
    new = [id for id, form in claims.forms.items() if last.get(id) != form]
    now = datetime.now(UTC).replace(microsecond=0), _revision(path.parent)
    added = {id: [*known.get(id, ()), Entry(claims.forms[id], *now)] for id in new}
    if new or not place.exists():
        write_together(place.parent, {place.name: written({**known, **added})}, [path])
    return place, len(claims.claims), len(new)


def _revision(folder: Path) -> str:
    """The revision that is checked out in a folder; empty if it is in no repository."""
    with suppress(OSError, SubprocessError):
        command = ["git", "-C", str(folder), "rev-parse", "HEAD"]
        return check_output(command, stderr=DEVNULL, text=True).strip()
    return ""


def written(registration: Registration) -> str:
    """The content of the file: a line for each form."""
    lines = [f"{HEAD}claims:" if registration else f"{HEAD}claims: {{}}"]
    for id, entries in registration.items():
        lines.append(f"  {json.dumps(id)}:")
        for e in entries:
            date = e.date.isoformat(timespec="seconds")
            lines += [f'  - {{date: "{date}", revision: "{e.revision}", form: "{e.form}"}}']
    return "\n".join(lines) + "\n"


BEFORE, CHANGED, ADDED = REGISTERED


def standing(entries: Sequence[Entry], form: str, first: datetime) -> str:
    """``before``, ``changed`` or ``added``, of a claim whose first run was at ``first``.

    The last form registered before the first run counts: ``before`` if it is the present ``form``,
    ``changed`` if it is another, ``added`` if there is none.
    """
    forms = [entry.form for entry in entries if entry.date <= first]
    return ADDED if not forms else BEFORE if forms[-1] == form else CHANGED


def with_standing(
    rows: Sequence[Row], claims: ClaimsFile, known: Registration | None, first: dict[str, datetime]
) -> list[Row]:
    """The rows with ``registered``; None without a registration, or a ``first`` run."""
    if known is None:
        return list(rows)
    standings = {id: standing(known.get(id, ()), claims.forms[id], at) for id, at in first.items()}
    return [replace(row, registered=standings.get(row.claim)) for row in rows]


def first_runs(claims: ClaimsFile, tables: Tables) -> dict[str, datetime]:
    """The earliest date in the column ``started`` of each claim's rows, where there is one."""
    first = {}
    for id, claim in claims.claims.items():
        dates: set[object] = set()
        for member in [claims.claims[name] for name in claim.pooled] or [claim]:
            with suppress(UserError, KeyError):  # there are no rows, or no such column
                rows = selected(joined(tables, member.tables), member.where)
                dates.update(rows["started"].dropna())
        if dates:
            first[id] = min(as_date("started", date) for date in dates)
    return first
