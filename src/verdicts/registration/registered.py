"""The file that says when each claim was registered in which form.

It is beside the claims file (``claims.registered.yaml`` for ``claims.yaml``), and is committed
before the runs. Nothing is ever removed from it: a changed claim has a further form with its date.
Some files have designs, too: dated forms of what was planned for each table of a tier. None is
added any more.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from subprocess import DEVNULL, SubprocessError, check_output
from typing import Any

from verdicts.claims.claims_file import read_claims
from verdicts.claims.entries import check_keys, mapping, text
from verdicts.files import write_together
from verdicts.registry import UserError, check, shown
from verdicts.yaml_files import read_mapping

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


Entries = Mapping[str, Sequence[Entry]]
"""The entries of each claim, by id, or of each table's design, by date."""


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
        {str(tier): _section(f"registered.designs.{tier}", each) for tier, each in tiers.items()},
    )


def _section(key: str, value: object) -> Entries:
    return {str(id): _entries(f"{key}.{id}", each) for id, each in mapping(key, value).items()}


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
    last = {id: each[-1].form for id, each in known.claims.items()}
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
        for name, each in value.items():
            yield from _lines(json.dumps(name), each, f"{indent}  ")
        return
    for each in value:
        date = each.date.isoformat(timespec="seconds")
        yield f'{indent}- {{date: "{date}", revision: "{each.revision}", form: "{each.form}"}}\n'
