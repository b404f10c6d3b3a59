"""The file that says when each claim, and each design, was registered in which form.

It is beside the claims file (``claims.registered.yaml`` for ``claims.yaml``), and is committed
before the runs. Nothing is ever removed from it: a changed claim has a further form with its date.
A design is what is planned for a table of a tier, where a tier is one set of tables on which the
claims are judged. Its form is a hash, too.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from verdicts.claims.entries import check_keys, mapping, text
from verdicts.registry import UserError, shown
from verdicts.yaml_files import read_mapping

HEAD = """\
# When each claim was registered in each of its forms. A form is the hash of what decides the claim;
# words that are only printed do not count. Designs, by tier and table, are hashes of the plan for a
# table. The last form before the first run counts. `verdicts register` adds to this file.
"""

MOST = 10_000
"""Forms that a file may have."""


@dataclass(frozen=True)
class Entry:
    """A form of a claim or of a design, and when it was registered."""

    form: str
    date: datetime
    #: The revision of the sources at that time; empty if there was none.
    revision: str


Entries = Mapping[str, Sequence[Entry]]
"""The entries of each claim, by id, or of each table's design, by date."""


@dataclass(frozen=True)
class Registration:
    """What a file has."""

    claims: Entries = field(default_factory=dict)
    #: By tier; empty in a file without designs.
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
    found = Registration(
        _section("registered.claims", content["claims"]),
        {str(tier): _section(f"registered.designs.{tier}", each) for tier, each in tiers.items()},
    )
    sections = (found.claims, *found.designs.values())
    if sum(len(entries) for section in sections for entries in section.values()) > MOST:
        raise UserError(f"registered: {str(path)!r} has more than {MOST:,} forms.")
    return found


def _section(key: str, value: object) -> Entries:
    return {str(id): _entries(f"{key}.{id}", each) for id, each in mapping(key, value).items()}


def _entries(key: str, value: object) -> list[Entry]:
    if not isinstance(value, list) or not value:
        raise UserError(f"{key}: {shown(value)} is not allowed; it must be a list of forms.")
    found = [_entry(f"{key}[{k}]", each) for k, each in enumerate(value)]
    return sorted(found, key=lambda each: each.date)


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
    entries: Entries, forms: Mapping[str, str], date: datetime, revision: str
) -> tuple[Entries, list[str]]:
    """The entries with those of the ``forms`` that are not the last of their id, and their ids."""
    found = {id: list(each) for id, each in entries.items()}
    new = [id for id, form in forms.items() if id not in found or found[id][-1].form != form]
    for id in new:
        found.setdefault(id, []).append(Entry(forms[id], date, revision))
    return found, new


def written(registration: Registration) -> str:
    """The content of the file: a line for each form."""
    lines = [HEAD, *_lines("claims", registration.claims, "")]
    if registration.designs:
        lines.append("designs:\n")
        for tier, entries in registration.designs.items():
            lines += _lines(json.dumps(tier), entries, "  ")
    return "".join(lines)


def _lines(key: str, entries: Entries, indent: str) -> Iterable[str]:
    yield f"{indent}{key}:{'' if entries else ' {}'}\n"
    for id, forms in entries.items():
        yield f"{indent}  {json.dumps(id)}:\n"
        for each in forms:
            date = each.date.isoformat(timespec="seconds")
            fields = f'date: "{date}", revision: "{each.revision}", form: "{each.form}"'
            yield f"{indent}  - {{{fields}}}\n"
