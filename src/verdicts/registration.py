"""The file that says when each claim was registered in which form, and what follows from it.

It is beside the claims file (``claims.registered.yaml`` for ``claims.yaml``), and is committed
before the runs. Nothing is ever removed from it: a changed claim has a further form with its date.
Some files have designs, too: dated forms of what was planned for each table of a tier. None is
added any more.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from subprocess import DEVNULL, SubprocessError, check_output
from typing import Any

from verdicts.claims.claim import Claim, ClaimsFile
from verdicts.claims.claims_file import read_claims
from verdicts.files import check_keys, mapping, read_mapping, text, write_together
from verdicts.registry import UserError, check, shown
from verdicts.row import REGISTERED, Row
from verdicts.rows.selection import Tables, joined, selected

HEAD = """\
# When each claim was registered in each of its forms. A form is the hash of what decides the claim;
# words that are only printed do not count. The last form before the first run counts.
# `verdicts register` adds to this file.
"""


@dataclass(frozen=True)
class Entry:
    """A form of a claim or of a design, and when it was registered."""

    form: str
    date: datetime
    #: The revision of the sources at that time; empty if there was none.
    revision: str


#: The entries of each claim, by id, or of each table's design, by date.
Entries = Mapping[str, Sequence[Entry]]


@dataclass(frozen=True)
class Registration:
    """What a file has."""

    claims: Entries = field(default_factory=dict)
    #: By tier.
    designs: Mapping[str, Entries] = field(default_factory=dict)


def registration_path(claims: str | Path) -> Path:
    """Where the registration of a claims file is."""
    path = Path(claims)
    return path.with_name(f"{path.stem}.registered.yaml")


def read_registration(path: Path) -> Registration | None:
    """The registration in a file; None if there is no such file.

    Raises a one-line UserError for its first mistake.
    """
    if not os.path.exists(path):  # also where the name is too long for a file
        return None
    content = read_mapping(path, "registered")
    check_keys("registered", content, ("claims", "designs"), ("claims",))
    tiers = mapping("registered.designs", content.get("designs", {}))
    return Registration(
        _section("registered.claims", content["claims"]),
        {str(tier): _section(f"registered.designs.{tier}", part) for tier, part in tiers.items()},
    )


def _section(key: str, value: object) -> Entries:
    return {str(id): _entries(f"{key}.{id}", forms) for id, forms in mapping(key, value).items()}


def _entries(key: str, value: Any) -> list[Entry]:
    check(isinstance(value, list) and value, key, value, "it must be a list of forms")
    return sorted((_entry(f"{key}[{k}]", e) for k, e in enumerate(value)), key=lambda e: e.date)


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
        told = f"{shown(value)} is not allowed; give a date like 2026-01-31T12:00:00+00:00."
        raise UserError(f"{key}: {told}") from None


def register(path: Path, out: Path | None = None) -> tuple[Path, int, int]:
    """Add the present forms of the claims in a file to its registration, whole or not at all.

    Returns the path of the registration, the number of claims, and how many of them are new or
    changed. Raises a UserError in one line.
    """
    claims = read_claims(path)
    place = registration_path(path) if out is None else out
    known = read_registration(place) or Registration()
    last = {id: entries[-1].form for id, entries in known.claims.items()}
    new = [id for id, form in claims.forms.items() if last.get(id) != form]
    date, revision = datetime.now(UTC).replace(microsecond=0), _revision(path.parent)
    added = {id: [*known.claims.get(id, ()), Entry(claims.forms[id], date, revision)] for id in new}
    if new or not place.exists():
        text = written(replace(known, claims={**known.claims, **added}))
        write_together(place.parent, {place.name: text}, [path])
    return place, len(claims.claims), len(new)


def _revision(folder: Path) -> str:
    """The revision that is checked out in a folder; empty if it is in no repository."""
    with suppress(OSError, SubprocessError):
        command = ["git", "-C", str(folder), "rev-parse", "HEAD"]
        return check_output(command, stderr=DEVNULL, text=True).strip()
    return ""


def written(registration: Registration) -> str:
    """The content of the file: a line for each form."""
    designs = _lines("designs", registration.designs) if registration.designs else ()
    return "".join([HEAD, *_lines("claims", registration.claims), *designs])


def _lines(key: str, value: Mapping[str, Any] | Sequence[Entry], indent: str = "") -> Iterator[str]:
    yield f"{indent}{key}:{'' if value else ' {}'}\n"
    if isinstance(value, Mapping):
        for name, more in value.items():
            yield from _lines(json.dumps(name), more, f"{indent}  ")
        return
    for entry in value:
        date = entry.date.isoformat(timespec="seconds")
        yield f'{indent}- {{date: "{date}", revision: "{entry.revision}", form: "{entry.form}"}}\n'


BEFORE, CHANGED, ADDED = REGISTERED

#: When the first run of each claim began.
Dates = Mapping[str, datetime]


def standing(parts: Iterable[tuple[Sequence[Entry], str]], first: datetime) -> str:
    """``before``, ``changed`` or ``added``, of a claim whose first run was at ``first``.

    ``parts`` are the entries and the present form of the claim, and of each design that it is
    judged on. What counts is the last form registered before the first run: ``before`` if it is the
    present form of all parts, ``changed`` if it is another for some, and ``added`` if some have
    none.
    """
    found = [([e.form for e in entries if e.date <= first], now) for entries, now in parts]
    if any(forms and forms[-1] != now for forms, now in found):
        return CHANGED
    return BEFORE if all(forms for forms, _ in found) else ADDED


def with_standing(
    rows: Sequence[Row], claims: ClaimsFile, known: Registration | None, first: Dates, tier: str
) -> list[Row]:
    """The rows with ``registered``; None where no registration is ``known``, or no ``first`` run.

    The registered designs of the ``tier`` count, too; the last form of each is the present one.
    """
    if known is None:
        return list(rows)
    designs, found = known.designs.get(tier, {}), {}
    for id, date in first.items():
        read = claims.read_by(claims.claims[id]) & designs.keys()
        parts = [(designs[table], designs[table][-1].form) for table in read]
        own = (known.claims.get(id, ()), claims.forms[id])
        found[id] = standing([own, *parts], date)
    return [replace(row, registered=found.get(row.claim)) for row in rows]


def first_runs(claims: ClaimsFile, tables: Tables) -> dict[str, datetime]:
    """The earliest date in the column ``started`` of each claim's rows, where there is one."""
    found = {}
    for claim in claims.claims.values():
        members = [claims.claims[name] for name in claim.pooled] or [claim]
        dates = {date for member in members for date in _started(member, tables)}
        if dates:
            found[claim.id] = min(as_date("started", date) for date in dates)
    return found


def _started(claim: Claim, tables: Tables) -> set[object]:
    try:
        rows = selected(joined(tables, claim.tables), claim.where)
    except UserError:
        return set()
    return set(rows["started"].dropna()) if "started" in rows else set()
