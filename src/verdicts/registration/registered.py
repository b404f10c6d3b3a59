"""The file that says when each claim was first registered in which form.

It is beside the claims file (``claims.registered.yaml`` for ``claims.yaml``), and is committed
before the runs. Nothing is ever removed from it: a changed claim has another form, with a date of
its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from verdicts.claims.entries import check_keys, mapping, text
from verdicts.registry import UserError, shown
from verdicts.yaml_files import read_mapping

HEAD = """\
# When each claim was first registered in each of its forms. A form is the hash of what decides the
# claim; words that are only printed do not count. Written by `verdicts register`, which adds to it.
"""

MOST = 10_000
"""Forms that a file may have."""


@dataclass(frozen=True)
class Entry:
    """A form of a claim, and when it was first registered."""

    form: str
    date: datetime
    #: The revision of the sources at that time; empty if there was none.
    revision: str


Registration = Mapping[str, Sequence[Entry]]
"""The entries of each claim, by id, from the first."""


def registration_path(claims: str | Path) -> Path:
    """Where the registration of a claims file is."""
    path = Path(claims)
    return path.with_name(f"{path.stem}.registered.yaml")


def read_registration(path: Path) -> Registration | None:
    """The registration in a file; None if there is no such file.

    Raises a one-line UserError for its first mistake.
    """
    if not path.exists():
        return None
    content = read_mapping(path, "registered")
    check_keys("registered", content, ("claims",), ("claims",))
    claims = mapping("registered.claims", content["claims"])
    found = {str(id): _entries(f"registered.claims.{id}", each) for id, each in claims.items()}
    if sum(map(len, found.values())) > MOST:
        raise UserError(f"registered: {str(path)!r} has more than {MOST:,} forms.")
    return found


def _entries(key: str, value: object) -> list[Entry]:
    if not isinstance(value, list) or not value:
        raise UserError(f"{key}: {shown(value)} is not allowed; it must be a list of forms.")
    return [_entry(f"{key}[{k}]", each) for k, each in enumerate(value)]


def _entry(key: str, value: object) -> Entry:
    values = mapping(key, value)
    check_keys(key, values, ("form", "date", "revision"), ("form", "date", "revision"))
    hashes = {name: text(f"{key}.{name}", values[name]) for name in ("form", "revision")}
    for name, pattern in (("form", "[0-9a-f]{64}"), ("revision", "[0-9a-f]{0,64}")):
        if not re.fullmatch(pattern, hashes[name]):
            raise UserError(f"{key}.{name}: {shown(values[name])} is no hash.")
    return Entry(date=as_date(f"{key}.date", values["date"]), **hashes)


def as_date(key: str, value: object) -> datetime:
    """A date with a time zone, in ISO format; a UserError for another value."""
    try:
        found = datetime.fromisoformat(str(value))
        if found.tzinfo is None:
            raise ValueError
        return found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UserError(
            f"{key}: {shown(value)} is not allowed; give a date like 2026-01-31T12:00:00+00:00."
        ) from None


def added(
    registration: Registration, forms: Mapping[str, str], date: datetime, revision: str
) -> tuple[Registration, list[str]]:
    """The registration with those of the ``forms`` that it lacks, and the ids of their claims."""
    found = {id: list(entries) for id, entries in registration.items()}
    new = [id for id, form in forms.items() if form not in (e.form for e in found.get(id, ()))]
    for id in new:
        found.setdefault(id, []).append(Entry(forms[id], date, revision))
    return found, new


def written(registration: Registration) -> str:
    """The content of the file: a line for each form."""
    return HEAD + "claims:\n" + "".join(_lines(registration))


def _lines(registration: Registration) -> Iterable[str]:
    for id, entries in registration.items():
        yield f"  {json.dumps(id)}:\n"
        for each in entries:
            date = each.date.isoformat(timespec="seconds")
            yield f'  - {{date: "{date}", revision: "{each.revision}", form: "{each.form}"}}\n'
