"""The ledger: every claim of a file, with a verdict, judged on tidy tables.

A claim selects rows (``from``, ``where``) and reduces them to one number per seed, or to cases
(``quantity_registry``). Statistics judge the numbers (``evidence``, ``judgement``); all cases must
be met. The claim is ``not run`` if its table or rows are missing (of a data set that was not
trained, for example), or if the rows do not pass a gate. p values are adjusted within the claim's
family; those of its cells within the claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from verdicts.claims.claim import SIDES, Claim, ClaimsFile
from verdicts.claims.gates import check_gate
from verdicts.claims.units import known_unit, scale_of
from verdicts.claims.universes import BOTH_DIVERGED, settings_in, universes_of
from verdicts.lazy import pd
from verdicts.quantity_registry import QUANTITIES
from verdicts.registry import TableError, UserError, in_a_line
from verdicts.row import NAN, Row
from verdicts.scores import FIRST_LOOK, Scores, compared, evidence_of, sides
from verdicts.statistics import judgement
from verdicts.statistics.estimates import ROUNDING
from verdicts.statistics.evidence import Evidence, Expectation, evidence
from verdicts.statistics.judgement import NOT_RUN, UNDECIDED, Verdict
from verdicts.statistics.multiverse import MultiverseEvidence, examined
from verdicts.statistics.planning import detectable, seeds_needed, sequential
from verdicts.table import Selection, Tables, joined, selected

#: Evidence on a claim or a cell; a verdict where no other claim counts.
Finding = Evidence | MultiverseEvidence | Verdict

#: Kinds of claims with a limit, not a direction.
BOUNDS = ("bound", "theorem", "theorem amended")


def judged(claims: ClaimsFile, tables: Tables) -> list[Row]:
    """A row for each claim, in the order of the file, each followed by those of its cells.

    An optional claim that is not run has none.
    """
    cells = {claim.id: _cells(claim, claims, tables) for claim in claims.claims.values()}
    families: dict[str, dict[str, Finding]] = {}
    for claim in claims.claims.values():
        if claim.depends_on:
            finding: Finding = judgement.judge_depends(
                claim.depends_on,
                {
                    value: [cells[claim.id][name] for name in names]
                    for value, names in claim.open_values.items()
                },
            )
        elif claim.every_cell:
            finding = judgement.judge_every(list(cells[claim.id].values()))
        else:
            finding = evidence_on(claim, {}, claim.expectation, claims, tables)
        families.setdefault(claim.family, {})[claim.id] = finding
    decided: dict[str, Verdict] = {}
    for family in families.values():
        decided |= _decided(family, claims.claims)
    rows = []
    for claim in claims.claims.values():
        if decided[claim.id].verdict == NOT_RUN and claims.is_optional(claim.id):
            continue
        unit = known_unit(claim, claims.claims, of_runs=_of_runs(claim, tables))
        row = _row(claim, "", claim.expectation, decided[claim.id], unit)
        rows.append(_gated(row, claim, {}, claims, tables))
        for name, verdict in cells[claim.id].items():
            cell = claim.cells[name]
            row = _row(claim, name, cell.expectation, verdict, unit)
            rows.append(_gated(row, claim, cell.where, claims, tables))
    return rows


def _of_runs(claim: Claim, tables: Tables) -> bool:
    """Whether the claim's tables have a column ``run``, as far as there are tables."""
    return all("run" in tables[name] for name in claim.tables if name in tables)


def _gated(row: Row, claim: Claim, where: Selection, claims: ClaimsFile, tables: Tables) -> Row:
    """The row; not run if a late gate is missed, with its numbers and the verdict without it.

    Late gates come after all verdicts: families are adjusted as if there were none.
    """
    late = [gate for name in claim.gates if (gate := claims.gates[name]).late]
    if row.verdict == NOT_RUN or not late:
        return row
    try:
        rows = _read(claim, {**claim.where, **where}, tables)
        for gate in late:
            check_gate(gate, rows, tables)
    except UserError as error:
        before = row.verdict + (f" ({row.reason})" if row.reason else "")
        told = f"{error}; without this gate, set on {gate.late} after the results: {before}"
        return replace(row, verdict=NOT_RUN, reason=told, next_look=None)
    return row


def _cells(claim: Claim, claims: ClaimsFile, tables: Tables) -> dict[str, Verdict]:
    """The verdicts on the cells of a claim, adjusted within it."""
    evidence_by_cell = {
        name: evidence_on(claim, cell.where, cell.expectation, claims, tables)
        for name, cell in claim.cells.items()
    }
    return _decided(evidence_by_cell, {name: claim for name in evidence_by_cell})


def _decided(family: dict[str, Finding], claims: Mapping[str, Claim]) -> dict[str, Verdict]:
    """Verdicts on all the evidence of a family; verdicts that are there already are kept.

    A bound is not reversed: it fails.
    """
    seeds = {k: value for k, value in family.items() if isinstance(value, Evidence)}
    sampled = {k: value for k, value in family.items() if isinstance(value, MultiverseEvidence)}
    verdicts = {k: value for k, value in family.items() if isinstance(value, Verdict)}
    verdicts |= zip(seeds, judgement.judge(list(seeds.values())), strict=True)
    verdicts |= zip(sampled, judgement.judge_multiverses(list(sampled.values())), strict=True)
    reversed_ = {k for k in family if verdicts[k].verdict == judgement.REVERSED}
    bounds = {k for k in reversed_ if claims[k].kind in BOUNDS}
    verdicts |= {k: replace(verdicts[k], verdict=judgement.FAILS) for k in bounds}
    return {k: verdicts[k] for k in family}


def evidence_on(
    claim: Claim,
    where: Selection,
    expectation: Expectation | None,
    claims: ClaimsFile,
    tables: Tables,
) -> Finding:
    """The evidence on a claim or a cell; a verdict if it is not run, or judged by cases."""
    quantity = QUANTITIES[claim.quantity]
    try:
        result = _result(claim, where, claims, tables)
    except _NotRun as error:
        return Verdict(NOT_RUN, str(error))
    if claim.universes is not None:
        assert expectation is not None  # claims files without one are refused
        counting = result[result["why"] == ""]
        if counting.empty:
            return Verdict(NOT_RUN, f"no universe counts: {result['why'].iloc[0]}")
        lost = int((result["why"] == BOTH_DIVERGED).sum())
        return examined(counting["effect"], settings_in(counting), len(result), expectation, lost)
    assert isinstance(result, Scores)
    numbers = result.numbers
    if quantity.cases:
        return judgement.judge_cases(numbers)
    assert expectation is not None
    scale = scale_of(claim, of_runs=_of_runs(claim, tables))
    if scale and numbers.between(*scale).all():  # else its unit is another
        expectation = replace(expectation, scale=scale)
    value = quantity.value(claim.arguments)
    logs = claim.quantity == "log_ratio" or claim.arguments.get("log") is True
    if result.unpaired is not None:
        seen = evidence_of(result, expectation, claim.test)
        return replace(seen, left_out="; ".join([seen.left_out, *result.told(value, logs=logs)]))
    if claim.looks:
        seen = sequential(numbers.sort_index().to_numpy(), expectation, claim.looks)
    else:
        seen = evidence(numbers.to_numpy(), expectation)
    counts = claim.looks[seen.looks - 1] if seen.looks else len(numbers)
    told = result.told(value, logs=logs, seeds=result.by_seed.sort_index().index[:counts])
    if quantity.ratio and seen.infinite and np.isnan(seen.estimate):
        told.append("there is no estimate, since the whole is not above 0 in every seed")
    seen = replace(seen, left_out="; ".join(told))
    return _exact(claim, seen, expectation) if claim.exact else seen


def _exact(claim: Claim, seeds: Evidence, expectation: Expectation) -> Verdict:
    """The verdict on an exact claim; a UserError if its seeds differ."""
    if not seeds.pairs:
        return Verdict(NOT_RUN, "; ".join(filter(None, ["no seed has a number", seeds.left_out])))
    mixed = 0 < seeds.infinite < seeds.pairs
    largest = max(abs(seeds.estimate), abs(expectation.value))
    if mixed or (seeds.pairs > 1 and seeds.spread > ROUNDING * largest):
        how = f"{seeds.infinite} infinite" if mixed else f"standard deviation {seeds.spread:.3g}"
        raise UserError(
            f"claims.{claim.id}.exact: its seeds differ ({seeds.pairs} seeds, {how}); without "
            "'exact', they are a sample."
        )
    return judgement.judge_exact(seeds)


def seed_numbers(claim: Claim, where: Selection, claims: ClaimsFile, tables: Tables) -> pd.Series:
    """The number of each seed of a claim or a cell; infinite where a run diverged.

    Raises a UserError, with the reason, for a claim that is not run, and for a gate that is not
    met, late ones too.
    """
    try:
        result = _result(claim, where, claims, tables)
    except _NotRun as error:
        raise UserError(str(error)) from None
    for gate in (claims.gates[name] for name in claim.gates):
        check_gate(gate, _read(claim, {**claim.where, **where}, tables), tables)
    if result.unpaired is not None:
        raise UserError("its runs are not paired")
    return result.numbers


class _NotRun(Exception):
    """Why there are no runs that could decide a claim."""


def _result(claim: Claim, where: Selection, claims: ClaimsFile, tables: Tables) -> Any:
    """The quantity of a claim, or of a cell, on its rows; _NotRun if there is none.

    Raises a TableError for a mistake in these rows.
    """
    try:
        if claim.is_pooled:
            rows = _numbers(claim, claims, tables)
        else:
            rows = _read(claim, {**claim.where, **where}, tables)
        for gate in (claims.gates[name] for name in claim.gates):
            if not gate.late:
                check_gate(gate, rows, tables)
        if claim.universes is not None:
            return universes_of(claim, where, tables)
        if claim.has_sides:
            return _compared(claim, rows)
        quantity = QUANTITIES[claim.quantity]
        result = quantity.function(rows, **claim.arguments)
    except TableError as error:
        raise TableError(f"claims.{claim.id}: {error}") from None
    except UserError as error:
        raise _NotRun(str(error)) from None
    except KeyError as error:  # of a table that an older version has written, for example
        raise _NotRun(f"{claim.quantity!r} finds no {in_a_line(error)}") from None
    return quantity.scores(f"claims.{claim.id}.quantity", result)


def _compared(claim: Claim, rows: pd.DataFrame) -> Scores:
    """Both sides of a claim, paired where their runs have seeds in common."""
    given: Mapping[str, Any] = claim.arguments
    wheres = [given[name] for name in SIDES[claim.quantity]]
    value: Any = QUANTITIES[claim.quantity].value(given)
    found = sides(rows, wheres, value, given.get("over", ()), paired=False)
    return compared(found, log=claim.quantity == "log_ratio", test=claim.test)


def _numbers(claim: Claim, claims: ClaimsFile, tables: Tables) -> pd.DataFrame:
    """Of each pooled claim and seed: how far the number is on the claimed side."""
    numbers_of = {}
    for name in claim.pooled:
        member = claims.claims[name]
        assert member.expectation is not None  # such claims are not pooled
        try:
            result = _result(member, {}, claims, tables)
        except _NotRun as error:
            raise _NotRun(f"{name} is not run: {error}") from None
        if result.unpaired is not None:
            raise _NotRun(f"the runs of {name} are not paired")
        numbers_of[name] = member.expectation.toward(result.numbers)
    return pd.DataFrame(numbers_of)


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


def _row(
    claim: Claim, cell: str, expectation: Expectation | None, verdict: Verdict, unit: str
) -> Row:
    known = verdict.evidence
    seeds = known if isinstance(known, Evidence) else None
    coming = claim.looks[seeds.looks or 0 :] if seeds and verdict.verdict == UNDECIDED else ()
    sources = (claim, OF_CLAIM), (verdict, OF_VERDICT), (known, OF_EVIDENCE)
    (low, high), (plain_low, plain_high) = verdict.interval, verdict.plain_interval
    copied: dict[str, Any] = {"low": low, "high": high, "level": verdict.interval_level}
    copied |= {"plain_low": plain_low, "plain_high": plain_high}
    for source, names in sources:
        copied |= {name: getattr(source, name, NAN) for name in names}
    return Row(
        claim=claim.id,
        cell=cell,
        reason="; ".join(filter(None, [verdict.reason, seeds.left_out if seeds else ""])),
        unit=unit,
        relation=expectation.relation if expectation else "",
        expected=expectation.value if expectation else NAN,
        margin=NAN if expectation is None or expectation.margin is None else expectation.margin,
        detectable=detectable(seeds, verdict.family) if seeds else NAN,
        seeds_needed=seeds_needed(seeds, verdict.family) if seeds else NAN,
        family=claim.id if cell else claim.family,
        family_size=verdict.family,
        looks=seeds.looks if seeds else None,
        next_look=coming[0] if coming else None,
        **copied,
    )


OF_CLAIM = ("place", "says", "quote", "kind", "shows", "mark", "mark_reason")
OF_VERDICT = (
    *("verdict", "p_adjusted", "p_equivalent_adjusted", "met", "cases", "hardest"),
    *("hardest_measured", "hardest_limit", "multiverse"),
)
#: What a row has of the claim, of the verdict and of the evidence.
OF_EVIDENCE = (*("estimate", "pairs", "infinite"), *("p_t", "p_sign_flip", "p", "p_equivalent"))
