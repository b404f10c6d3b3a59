"""The ledger: every claim of a file, with a verdict, judged on tidy tables.

A claim selects rows (``from``, ``where``), reduces them to one number per seed or to cases
(``quantity_registry``), and is judged by statistics (``evidence``, ``judgement``) or by whether all
cases are met. It is ``not run`` if a table or its rows are missing (a data set that was not
trained, for example), or if the rows do not pass a gate. p values are adjusted within the claim's
family; those of its cells within the claim.
"""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pandas as pd

from verdicts.claims.claim import Claim, ClaimsFile
from verdicts.claims.gates import check_gate
from verdicts.quantity_registry import QUANTITIES
from verdicts.registry import UserError, in_a_line
from verdicts.row import NAN, Row
from verdicts.rows.best_fields import FIRST_LOOK
from verdicts.rows.selection import Selection, Tables, joined, selected
from verdicts.statistics.cases import COLUMNS
from verdicts.statistics.evidence import Evidence, evidence
from verdicts.statistics.expectation import Expectation
from verdicts.statistics.judgement import NOT_RUN, Verdict, judge, judge_cases, judge_every
from verdicts.statistics.power import detectable, seeds_needed
from verdicts.statistics.sequential import sequential


def judged(claims: ClaimsFile, tables: Tables) -> list[Row]:
    """A row for each claim, in the order of the file, each followed by those of its cells."""
    cells = {claim.id: _cells(claim, claims, tables) for claim in claims.claims.values()}
    found: dict[str, Evidence | Verdict] = {}
    for claim in claims.claims.values():
        if claim.every_cell:
            found[claim.id] = judge_every(list(cells[claim.id].values()))
        else:
            found[claim.id] = _examined(claim, {}, claim.expectation, claims, tables)
    by_family = sorted(claims.claims.values(), key=lambda claim: claim.family)
    decided: dict[str, Verdict] = {}
    for _, members in groupby(by_family, key=lambda claim: claim.family):
        decided |= _decided({claim.id: found[claim.id] for claim in members})
    return [
        row
        for claim in claims.claims.values()
        for row in (
            _row(claim, "", claim.expectation, decided[claim.id]),
            *(
                _row(claim, name, claim.cells[name].expectation, verdict)
                for name, verdict in cells[claim.id].items()
            ),
        )
    ]


def _cells(claim: Claim, claims: ClaimsFile, tables: Tables) -> dict[str, Verdict]:
    """The verdicts on the cells of a claim, adjusted within it."""
    return _decided(
        {
            name: _examined(claim, cell.where, cell.expectation, claims, tables)
            for name, cell in claim.cells.items()
        }
    )


def _decided(found: dict[str, Evidence | Verdict]) -> dict[str, Verdict]:
    """Verdicts on all the evidence of a family; verdicts that are there already are kept."""
    open_ = {name: each for name, each in found.items() if isinstance(each, Evidence)}
    verdicts = dict(zip(open_, judge(list(open_.values())), strict=True))
    return {k: each if isinstance(each, Verdict) else verdicts[k] for k, each in found.items()}


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
        rows = _read(claim, {**claim.where, **where}, tables)
        for name in claim.gates:
            check_gate(claims.gates[name], rows, tables)
        result = quantity.function(rows, **claim.arguments)
    except UserError as error:
        return Verdict(NOT_RUN, str(error))
    except KeyError as error:  # of a table that an older version has written, for example
        return Verdict(NOT_RUN, f"{claim.quantity!r} finds no {in_a_line(error)}")
    if quantity.cases:
        return judge_cases(_checked_cases(claim, result))
    assert expectation is not None  # claims files without one are refused
    values = quantity.per_seed(f"claims.{claim.id}.quantity", result)
    if claim.looks:
        return sequential(values[np.argsort(result.index)], expectation, claim.looks)
    return evidence(values, expectation)


def _read(claim: Claim, where: Selection, tables: Tables) -> pd.DataFrame:
    """The rows of a claim or a cell; with a plan, those of added seeds too.

    Seeds of the first look, which choose the best values of fields, are marked (``FIRST_LOOK``).
    """
    added = [claim.added] if claim.looks and claim.added in tables else []
    rows = selected(joined(tables, (*claim.tables, *added)), where)
    if not claim.looks or "seed" not in rows:
        return rows
    first = sorted(rows["seed"].unique())[: claim.looks[0]]
    return rows.assign(**{FIRST_LOOK: rows["seed"].isin(first)})


def _checked_cases(claim: Claim, cases: object) -> pd.DataFrame:
    """The cases of a quantity; a UserError if they lack a column."""
    if not isinstance(cases, pd.DataFrame) or not set(COLUMNS) <= set(cases):
        raise UserError(
            f"claims.{claim.id}.quantity: {claim.quantity!r} must return a table with the columns "
            f"{', '.join(COLUMNS)}."
        )
    return cases


def _row(claim: Claim, cell: str, expectation: Expectation | None, verdict: Verdict) -> Row:
    known = verdict.evidence
    return Row(
        claim=claim.id,
        cell=cell,
        place=claim.place,
        says=claim.says,
        kind=claim.kind,
        verdict=verdict.verdict,
        reason=verdict.reason,
        unit=claim.unit,
        relation=expectation.relation if expectation else "",
        expected=expectation.value if expectation else NAN,
        margin=NAN if expectation is None or expectation.margin is None else expectation.margin,
        detectable=detectable(known, verdict.family) if known else NAN,
        seeds_needed=seeds_needed(known, verdict.family) if known else NAN,
        p_adjusted=verdict.p_adjusted,
        p_equivalent_adjusted=verdict.p_equivalent_adjusted,
        met=verdict.met,
        cases=verdict.cases,
        hardest=verdict.hardest,
        hardest_measured=verdict.hardest_measured,
        hardest_limit=verdict.hardest_limit,
        family=claim.id if cell else claim.family,
        family_size=verdict.family,
        shows=claim.shows,
        looks=known.looks if known else None,
        mark=claim.mark,
        mark_reason=claim.mark_reason,
        **{name: getattr(known, name, NAN) for name in FACTS},
    )


FACTS = (
    *("estimate", "low", "high", "pairs", "infinite"),
    *("p_t", "p_sign_flip", "p", "p_equivalent"),
)
"""What a row has of the evidence."""
