"""Whether a claim was registered before its first run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from verdicts.claims.claim import Claim, ClaimsFile
from verdicts.registration.registered import Entry, Registration, as_date
from verdicts.registry import UserError
from verdicts.row import REGISTERED, Row
from verdicts.rows.selection import Tables, joined, selected

BEFORE, CHANGED, ADDED = REGISTERED


def standing(entries: Sequence[Entry], form: str, first: datetime) -> str:
    """``before``, ``changed`` or ``added``: a claim of this form, whose first run was at ``first``.

    It was registered in this form before its first run; in another form, and changed since then; or
    in no form.
    """
    if any(each.form == form and each.date <= first for each in entries):
        return BEFORE
    return CHANGED if any(each.date <= first for each in entries) else ADDED


def with_standing(
    rows: Sequence[Row],
    claims: ClaimsFile,
    registration: Registration | None,
    first_runs: Mapping[str, datetime],
) -> list[Row]:
    """The rows with ``registered``; None without a registration, or a date in ``first_runs``."""
    if registration is None:
        return list(rows)
    found = {
        id: standing(registration.get(id, ()), form, first_runs[id])
        for id, form in claims.forms.items()
        if id in first_runs
    }
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
