"""Whether a claim was registered before its first run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from verdicts.claims.claim import Claim, ClaimsFile
from verdicts.registration.registered import Entry, Registration, as_date
from verdicts.registry import UserError
from verdicts.row import REGISTERED, Row
from verdicts.rows.selection import Tables, joined, selected

BEFORE, CHANGED, ADDED = REGISTERED

Dates = Mapping[str, datetime]
"""When the first run of each claim began."""


def standing(parts: Iterable[tuple[Sequence[Entry], str]], first: datetime) -> str:
    """``before``, ``changed`` or ``added``, of a claim whose first run was at ``first``.

    ``parts`` are the entries and the present form of the claim, and of each design that it is
    judged on. What counts is the last form registered before the first run: ``before`` if it is the
    present form of all parts, ``changed`` if it is another for some, and ``added`` if some have
    none.
    """
    found = [([each.form for each in entries if each.date <= first], now) for entries, now in parts]
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
