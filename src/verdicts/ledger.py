"""The ledger: every claim of a file, with a verdict, judged on tidy tables.

A claim selects rows (``from``, ``where``), reduces them to one number per seed or to cases
(``quantity``, see ``quantity``), and is judged by statistics (``evidence``, ``verdicts``) or by
whether all cases are met. It is ``not run`` where a table, its rows, or a gate is missing: a data
set that was not trained, for example. p values are adjusted within the claim's family; those of its
cells within the claim. ``config/reference/claims.yaml`` has the format, ``docs/verdicts.md`` the
rules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby

import pandas as pd

from verdicts.claims.claim import Claim, ClaimsFile, Selection
from verdicts.claims.expectation import Expectation
from verdicts.claims.gates import check_gate
from verdicts.quantity import QUANTITIES
from verdicts.registry import UserError, in_a_line
from verdicts.rows.selection import Tables, joined, selected
from verdicts.statistics.evidence import Evidence, evidence
from verdicts.statistics.judgement import NOT_RUN, Verdict, judge, judge_cases, judge_every
from verdicts.statistics.power import detectable, seeds_needed

CASES = ("case", "measured", "limit", "met")


@dataclass(frozen=True)
class Entry:
    """A claim, or a cell of it (``cell`` is empty for the claim itself), and its verdict."""

    claim: Claim
    cell: str
    expectation: Expectation | None
    verdict: Verdict


def ledger(claims: ClaimsFile, tables: Tables) -> pd.DataFrame:
    """One row per claim, in the order of the file, each followed by a row for each of its cells.

    Columns: ``claim``, ``cell`` (empty for the claim itself), ``place``, ``says``, ``kind``,
    ``verdict``, ``reason``; ``estimate``, the interval ``low`` to ``high``, ``unit``, ``expected``;
    the p values ``p_t``, ``p_sign_flip``, ``p`` (the one that decides), ``p_adjusted``,
    ``p_equivalent``, ``p_equivalent_adjusted``; ``pairs`` and how many of them are ``infinite``;
    ``detectable``, the smallest difference that these seeds show with power 80 %, and
    ``seeds_needed``, the seeds that decide the claim with that power (``power``); ``met`` of
    ``cases``; ``family`` and ``family_size``; ``shows``.
    """
    return pd.DataFrame([_record(entry) for entry in entries(claims, tables)], columns=COLUMNS)


def entries(claims: ClaimsFile, tables: Tables) -> list[Entry]:
    """The verdicts on all claims and their cells."""
    cells = {claim.id: _cells(claim, claims, tables) for claim in claims.claims.values()}
    found = {}
    for claim in claims.claims.values():
        if claim.every_cell:
            found[claim.id] = judge_every([entry.verdict for entry in cells[claim.id]])
        else:
            found[claim.id] = _examined(claim, {}, claim.expectation, claims, tables)
    by_family = sorted(claims.claims.values(), key=lambda claim: claim.family)
    for _, members in groupby(by_family, key=lambda claim: claim.family):
        found |= _judged({claim.id: found[claim.id] for claim in members})
    return [
        entry
        for claim in claims.claims.values()
        for entry in (Entry(claim, "", claim.expectation, found[claim.id]), *cells[claim.id])
    ]


def _cells(claim: Claim, claims: ClaimsFile, tables: Tables) -> list[Entry]:
    """The verdicts on the cells of a claim, adjusted within it."""
    found = _judged(
        {
            name: _examined(claim, cell.where, cell.expectation, claims, tables)
            for name, cell in claim.cells.items()
        }
    )
    return [
        Entry(claim, name, claim.cells[name].expectation, verdict)
        for name, verdict in found.items()
    ]


def _judged(found: dict[str, Evidence | Verdict]) -> dict[str, Verdict]:
    """Verdicts on all the evidence of a family; verdicts that stand already are kept."""
    open_ = {name: each for name, each in found.items() if isinstance(each, Evidence)}
    return {**found, **dict(zip(open_, judge(list(open_.values())), strict=True))}


def _examined(
    claim: Claim,
    where: Selection,
    expectation: Expectation | None,
    claims: ClaimsFile,
    tables: Tables,
) -> Evidence | Verdict:
    """The evidence on a claim or a cell; a verdict if it is not run, or judged by cases."""
    quantity = QUANTITIES[claim.quantity]
    try:
        rows = selected(joined(tables, claim.tables), {**claim.where, **where})
        for name in claim.gates:
            check_gate(claims.gates[name], rows, tables)
        result = quantity.function(rows, **claim.arguments)
    except UserError as error:
        return Verdict(NOT_RUN, str(error))
    except KeyError as error:  # of a table that an older version has written, for example
        return Verdict(NOT_RUN, f"{claim.quantity!r} finds no {in_a_line(error)}")
    if quantity.cases:
        return judge_cases(_checked_cases(claim, result))
    return evidence(_checked_seeds(claim, result), expectation)


def _checked_seeds(claim: Claim, values: object) -> object:
    """The values of a quantity; a UserError if they are not one number per seed."""
    if not isinstance(values, pd.Series) or values.index.has_duplicates:
        raise UserError(
            f"claims.{claim.id}.quantity: {claim.quantity!r} must return one number per seed."
        )
    return values.to_numpy(dtype=float)


def _checked_cases(claim: Claim, cases: object) -> pd.DataFrame:
    """The cases of a quantity; a UserError if they lack a column."""
    if not isinstance(cases, pd.DataFrame) or not set(CASES) <= set(cases):
        raise UserError(
            f"claims.{claim.id}.quantity: {claim.quantity!r} must return a table with the columns "
            f"{', '.join(CASES)}."
        )
    return cases


def _record(entry: Entry) -> dict[str, object]:
    """A row of the ledger."""
    claim, verdict, known = entry.claim, entry.verdict, entry.verdict.evidence
    facts = {name: getattr(known, name, math.nan) for name in FACTS}
    return {
        "claim": claim.id,
        "cell": entry.cell,
        "place": claim.place,
        "says": claim.says,
        "kind": claim.kind,
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        **facts,
        "unit": claim.unit,
        "expected": str(entry.expectation or ""),
        "p_adjusted": verdict.p_adjusted,
        "p_equivalent_adjusted": verdict.p_equivalent_adjusted,
        "detectable": detectable(known, verdict.family) if known else math.nan,
        "seeds_needed": seeds_needed(known, verdict.family) if known else math.nan,
        "met": verdict.met,
        "cases": verdict.cases,
        "family": claim.id if entry.cell else claim.family,
        "family_size": verdict.family,
        "shows": claim.shows,
    }


FACTS = (
    *("estimate", "low", "high", "pairs", "infinite"),
    *("p_t", "p_sign_flip", "p", "p_equivalent"),
)

COLUMNS = [
    *("claim", "cell", "place", "says", "kind", "verdict", "reason"),
    *("estimate", "low", "high", "unit", "expected"),
    *("p_t", "p_sign_flip", "p", "p_adjusted", "p_equivalent", "p_equivalent_adjusted"),
    *("pairs", "infinite", "detectable", "seeds_needed", "met", "cases"),
    *("family", "family_size", "shows"),
]
