"""Judging: a verdict on every claim of a file, from tidy tables.

A claim selects rows (``from``, ``where``) and reduces them to one number per seed, or to cases
(``quantities``). Statistics judge the numbers (``evidence``, ``judgement``); of cases, all must be
met. A claim is ``not run`` if its table or its rows are missing: its data set was not trained, for
example. It is ``out of scale``, and keeps its numbers, if its rows miss a gate.

The p values of a claim are adjusted within its family, and those of its cells within the claim.
What misses a gate is left out of its family, unless the gate is late: such a gate was set after the
results, and must not change the verdicts on other claims.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from verdicts import registration
from verdicts.claims.claim import BOUNDS, SIDES, Cell, Claim, ClaimsFile
from verdicts.claims.claims_file import checked_tables, claims_of, read_claims
from verdicts.claims.conditions import check_gate, check_names, known_unit, scale_of
from verdicts.claims.draft import draft
from verdicts.claims.universes import BOTH_DIVERGED, none_counts, settings_in, universes_of
from verdicts.lazy import Figure, pd
from verdicts.quantities import QUANTITIES
from verdicts.registry import TableError, UserError, in_a_line
from verdicts.report import Result, as_strings, lines_of, print_board
from verdicts.run_values import Value, marked
from verdicts.scores import FIRST_LOOK, compared, sides
from verdicts.statistics import ROUNDING, judgement
from verdicts.statistics.evidence import Evidence, Expectation, evidence, unpaired_evidence
from verdicts.statistics.judgement import NOT_RUN, OUT_OF_SCALE, UNDECIDED, Verdict
from verdicts.statistics.multiverse import MultiverseEvidence, examined
from verdicts.statistics.planning import detectable, seeds_needed, sequential
from verdicts.statistics.samples import WELCH
from verdicts.table import Selection, Tables, joined, of_frame, read_table, selected
from verdicts.verdict_rows import COLUMNS, NUMBERS, Row, as_table

#: Evidence on a claim or a cell; a verdict where no other claim counts.
Finding = Evidence | Verdict


def check(claims: str | Path, tables: str | Path) -> list[Row]:
    """Judge the claims in a file on the tables in a folder (NAME.parquet or NAME.csv).

    Returns a row for each claim, in the file's order, each followed by those of its cells. A claim
    whose table or rows are not there is "not run". If the claims are registered, and tables have
    the column ``started``, the rows say whether a claim was registered before its first run.

    Raises a UserError, in one line, for the first mistake in the claims file, its tables or
    its registration: a column that a table lacks, or a text where a claim reads a number. What an
    optional claim lacks is no mistake.
    """
    file = read_claims(claims)
    read = checked_tables(file, tables)
    rows = judged(file, read)
    known = registration.read_registration(registration.registration_path(claims))
    return registration.with_standing(rows, file, known, registration.first_runs(file, read))


def judged(claims: ClaimsFile, tables: Tables) -> list[Row]:
    """A row for each claim, in the order of the file, each followed by those of its cells.

    An optional claim that is not run has none.
    """
    missed: dict[str, dict[str, Missed]] = {}
    cells: dict[str, dict[str, Verdict]] = {}
    findings: dict[str, Finding] = {}
    for id, claim in claims.claims.items():
        parts = claim.parts.items()
        gates = missed[id] = {k: _missed(claim, part.where, claims, tables) for k, part in parts}
        found = {k: evidence_on(claim, part, claims, tables) for k, part in parts if k}
        alone = {name: gates[name].alone and name for name in found}
        cells[id] = _adjusted(found, alone, dict.fromkeys(found, claim))
        scaled = dict(cells[id])
        for name, verdict in cells[id].items():
            if alone[name] and verdict.verdict != NOT_RUN:
                scaled[name] = Verdict(OUT_OF_SCALE, gates[name].why)
        if claim.depends_on:
            values = {k: [scaled[name] for name in of] for k, of in claim.open_values.items()}
            findings[id] = judgement.judge_depends(claim.depends_on, values)
        elif claim.every_cell:
            findings[id] = judgement.judge_every(list(scaled.values()))
        else:
            findings[id] = evidence_on(claim, claim.parts[""], claims, tables)
    families = {id: (of.family, missed[id][""].alone and id) for id, of in claims.claims.items()}
    decided = _adjusted(findings, families, claims.claims)
    rows = []
    for id, claim in claims.claims.items():
        if decided[id].verdict == NOT_RUN and claims.is_optional(id):
            continue
        unit = known_unit(claim, claims.claims, of_runs=_of_runs(claim, tables))
        for name, verdict in {"": decided[id], **cells[id]}.items():
            rows.append(_row(claim, name, verdict, unit, missed[id][name]))
    return rows


def _of_runs(claim: Claim, tables: Tables) -> bool:
    """Whether the claim's tables have a column ``run``, as far as there are tables."""
    return all("run" in tables[name] for name in claim.tables if name in tables)


class Missed(NamedTuple):
    """The gate that the rows of a claim or a cell miss; empty if they miss none."""

    why: str = ""
    #: Its day, if it was set after the results.
    late: str = ""

    @property
    def alone(self) -> bool:
        """Whether p values are adjusted without those of other claims: a gate in time is missed."""
        return bool(self.why and not self.late)


def _missed(claim: Claim, where: Selection, claims: ClaimsFile, tables: Tables) -> Missed:
    """The first gate that is missed, late ones last. A pooled claim asks those of its members."""
    members = [claims.claims[name] for name in claim.pooled]
    gates = [(claims.gates[name], each) for each in (claim, *members) for name in each.gates]
    late = of = ""
    try:
        for gate, each in sorted(gates, key=lambda pair: bool(pair[0].late)):
            late, of = gate.late, f" ({each.id})" if each is not claim else ""
            check_gate(gate, _read(each, where, tables), tables)
        if claim.universes and (why := none_counts(claim, where, tables)):
            return Missed(f"no universe counts: {why}")
    except TableError as error:
        raise TableError(f"claims.{claim.id}: {error}") from None
    except UserError as error:
        return Missed(f"{error}{of}", late)
    return Missed()


def _adjusted(
    findings: Mapping[str, Finding], families: Mapping[str, object], claims: Mapping[str, Claim]
) -> dict[str, Verdict]:
    """Verdicts on all evidence; p values are adjusted within families.

    Verdicts that are there already are kept. A bound is not reversed: it fails.
    """
    together: dict[tuple[object, type], dict[str, Any]] = {}
    for name, finding in findings.items():
        together.setdefault((families[name], type(finding)), {})[name] = finding
    verdicts: dict[str, Verdict] = {}
    judges: Any = {Evidence: judgement.judge, MultiverseEvidence: judgement.judge_multiverses}
    for (_, kind), family in together.items():
        verdicts |= zip(family, judges.get(kind, list)(list(family.values())), strict=True)
    for name, verdict in verdicts.items():
        if verdict.verdict == judgement.REVERSED and claims[name].kind in BOUNDS:
            verdicts[name] = replace(verdict, verdict=judgement.FAILS)
    return {name: verdicts[name] for name in findings}


def evidence_on(claim: Claim, part: Cell, claims: ClaimsFile, tables: Tables) -> Finding:
    """The evidence on a claim or a cell; a verdict if it is not run, exact, or judged by cases."""
    quantity, expectation = QUANTITIES[claim.quantity], part.expectation
    try:
        result = _result(claim, part.where, claims, tables)
    except _NotRun as error:
        return Verdict(NOT_RUN, str(error))
    if quantity.cases:
        return judgement.judge_cases(result.numbers)
    assert expectation is not None  # claims files without one are refused
    if claim.universes is not None:
        counting = result[result["why"] == ""]
        if counting.empty:
            return Verdict(NOT_RUN, f"no universe counts: {result['why'].iloc[0]}")
        lost = int((result["why"] == BOTH_DIVERGED).sum())
        return examined(counting["effect"], settings_in(counting), len(result), expectation, lost)
    numbers = result.numbers
    scale = scale_of(claim, of_runs=_of_runs(claim, tables))
    if scale and numbers.between(*scale).all():  # else its unit is another
        expectation = replace(expectation, scale=scale)
    if result.unpaired is not None:
        of, minus = (side.dropna().to_numpy() for side in result.unpaired)
        seen = unpaired_evidence(of, minus, expectation, claim.test or WELCH)
    elif claim.looks:
        seen = sequential(numbers.sort_index().to_numpy(), expectation, claim.looks)
    else:
        seen = evidence(numbers.to_numpy(), expectation)
    seeds = result.by_seed.sort_index().index[: claim.looks[seen.looks - 1] if seen.looks else None]
    logs = claim.quantity == "log_ratio" or claim.arguments.get("log") is True
    told = result.told(quantity.value(claim.arguments), logs=logs, seeds=seeds)
    if quantity.ratio and seen.infinite and np.isnan(seen.estimate):
        told.append("there is no estimate, since the whole is not above 0 in every seed")
    seen = replace(seen, left_out="; ".join(filter(None, [seen.left_out, *told])))
    return _exact(claim, seen, expectation) if claim.exact else seen


def _exact(claim: Claim, seeds: Evidence, expectation: Expectation) -> Verdict:
    """The verdict on an exact claim; a UserError if its seeds differ."""
    if not seeds.pairs:
        return Verdict(NOT_RUN, "; ".join(filter(None, ["no seed has a number", seeds.left_out])))
    mixed = 0 < seeds.infinite < seeds.pairs
    largest = max(abs(seeds.estimate), abs(expectation.value))
    if mixed or (seeds.pairs > 1 and seeds.spread > ROUNDING * largest):
        how = f"{seeds.infinite} infinite" if mixed else f"standard deviation {seeds.spread:.3g}"
        told = f"its seeds differ ({seeds.pairs} seeds, {how}); without 'exact', they are a sample."
        raise UserError(f"claims.{claim.id}.exact: {told}")
    return judgement.judge_exact(seeds)


def seed_numbers(claim: Claim, where: Selection, claims: ClaimsFile, tables: Tables) -> pd.Series:
    """The number of each seed of a claim or a cell; infinite where a run diverged.

    Raises a UserError, with the reason, for a claim that is not run, and for a gate that is not
    met, late ones too.
    """
    result = _result(claim, where, claims, tables)
    if why := _missed(claim, where, claims, tables).why:
        raise UserError(why)
    if result.unpaired is not None:
        raise UserError("its runs are not paired")
    return result.numbers


def pilot(table: Path) -> tuple[str, float, float]:
    """The first claim on a table (``draft``): what it says, its seeds' spread, and its margin."""
    content = yaml.safe_load(draft(table, Path("claims.yaml"))[0])
    claims = claims_of(content, Path())
    ((id, claim),) = claims.claims.items()
    try:
        numbers = seed_numbers(claim, {}, claims, {table.stem: read_table(table)})
    except UserError as error:
        why = str(error).rstrip(".")
        raise UserError(f"table: of {claim.says!r}, {why}; give --sd and --margin.") from None
    return claim.says, float(numbers.std()), float(content["claims"][id]["margin"])


class _NotRun(UserError):
    """Why there are no runs that could decide a claim."""


def _result(claim: Claim, where: Selection, claims: ClaimsFile, tables: Tables) -> Any:
    """The quantity of a claim, or of a cell, on its rows; _NotRun if there is none.

    Raises a TableError for a mistake in these rows.
    """
    quantity, given = QUANTITIES[claim.quantity], dict[str, Any](claim.arguments)
    try:
        if claim.universes is not None:
            return universes_of(claim, where, tables)
        rows = _numbers(claim, claims, tables) if claim.is_pooled else _read(claim, where, tables)
        if claim.has_sides:
            wheres = [given[name] for name in SIDES[claim.quantity]]
            value: Any = quantity.value(given)
            found = sides(rows, wheres, value, given.get("over", ()), paired=False)
            return compared(found, log=claim.quantity == "log_ratio", test=claim.test)
        result = quantity.function(rows, **given)
    except TableError as error:
        raise TableError(f"claims.{claim.id}: {error}") from None
    except UserError as error:
        raise _NotRun(str(error)) from None
    except KeyError as error:  # of a table that an older version has written, for example
        raise _NotRun(f"{claim.quantity!r} finds no {in_a_line(error)}") from None
    return quantity.scores(f"claims.{claim.id}.quantity", result)


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

    Seeds of the first interim analysis choose the best values of fields; ``FIRST_LOOK`` marks them.
    """
    added = [claim.added] if claim.looks and claim.added in tables else []
    whole = joined(tables, (*claim.tables, *added))
    value = QUANTITIES[claim.quantity].value(claim.arguments)
    rows = selected(marked(whole, value), {**claim.where, **where})
    if not claim.looks or "seed" not in rows:
        return rows
    first = sorted(rows["seed"].unique())[: claim.looks[0]]
    return rows.assign(**{FIRST_LOOK: rows["seed"].isin(first)})


def _row(claim: Claim, cell: str, decided: Verdict, unit: str, missed: Missed) -> Row:
    """The row of a claim or a cell: out of scale, with its numbers, if a gate is missed.

    It has the fields of the claim, of the verdict and of the evidence that have the same names.
    """
    expected, known = claim.parts[cell].expectation or Expectation("", nan), decided.evidence
    row: dict[str, Any] = dict.fromkeys(NUMBERS, nan)
    for source in (claim, known, decided):  # p values of universes are adjusted in the verdict
        row |= {name: getattr(source, name) for name in COLUMNS if hasattr(source, name)}
    row |= zip(ENDS, (*decided.interval, *decided.plain_interval), strict=True)
    row |= {"claim": claim.id, "cell": cell, "unit": unit, "level": decided.interval_level}
    row |= {"family": claim.id if cell else claim.family, "family_size": decided.family}
    row |= {"relation": expected.relation, "expected": expected.value}
    row["margin"] = nan if expected.margin is None else expected.margin
    row["looks"], verdict, reason = known and known.looks, decided.verdict, decided.reason
    if known:
        reason = "; ".join(filter(None, [reason, known.left_out]))
        powers = {"detectable": detectable, "seeds_needed": seeds_needed}
        row |= {name: of(known, decided.family) for name, of in powers.items()}
        if verdict == UNDECIDED and not missed.why:
            row["next_look"] = next(iter(claim.looks[known.looks or 0 :]), None)
    if missed.why and verdict != NOT_RUN:
        before = verdict + (f" ({reason})" if reason else "")
        late = f"; the gate was set after the results, on {missed.late}; without it: {before}"
        verdict, reason = OUT_OF_SCALE, missed.why + late * bool(missed.late)
    return Row(**{**row, "verdict": verdict, "reason": reason})


ENDS = ("low", "high", "plain_low", "plain_high")


@dataclass(frozen=True, repr=False)
class Judged(Result):
    """The verdict on one claim: ``str`` has a line or two on it."""

    rows: Sequence[Row]

    @property
    def frame(self) -> pd.DataFrame:  # type: ignore[override]
        """Its row (``as_table``)."""
        return as_table(self.rows)

    @property
    def verdict(self) -> str:
        """The word: holds, for example."""
        return self.rows[0].verdict

    def __str__(self) -> str:
        return lines_of(self.rows[0])

    def shown(self) -> pd.DataFrame:
        """The claim as the pages show it."""
        return as_strings(print_board(self.rows))

    def draw(self, figure: Figure) -> None:
        """The estimate and its interval, with what is expected; grey is within the margin."""
        figure.set_size_inches(6, 1.6)
        axes, (row,) = figure.subplots(), self.rows
        if not np.isnan(row.margin):
            axes.axvspan(row.expected - row.margin, row.expected + row.margin, color="0.9")
        axes.axvline(row.expected, color="0.4", linestyle="dotted")
        axes.hlines(0, row.low, row.high, color="tab:blue")
        axes.plot(row.estimate, 0, "o", color="tab:blue")
        axes.set_yticks([0], [f"{row.says}\n{row.verdict}"], parse_math=False)
        axes.set_xlabel(row.unit or "difference")


def judge(
    data: pd.DataFrame,
    says: str = "",
    *,
    of: Selection | None = None,
    minus: Selection | None = None,
    value: Value = "accuracy",
    over: Sequence[str] = (),
    best: str | None = None,
    margin: float | None = None,
    **expected: float,
) -> Judged:
    """Judge one claim on a table: ``above``, ``below`` or ``near`` a number.

    It is about the ``value`` of the runs ``of`` less that of the runs ``minus``, or about its level
    without these; a mean over the columns ``over``, by seed. ``margin`` is the largest difference
    that counts as none. ``best`` is ``highest`` or ``lowest``, where the name of the value does not
    say it. Raises a UserError, in one line.

    >>> rows = pd.DataFrame({"m": [*"AAABBB"], "seed": [0, 1, 2] * 2, "loss": [5, 6, 8, 1, 2, 3]})
    >>> judge(rows, "B is better", of={"m": "B"}, minus={"m": "A"}, value="loss", below=0).verdict
    'holds'
    """
    if len(expected) != 1:
        raise UserError("judge: give one of above, below, near.")
    ((relation, number),) = expected.items()
    given: dict[str, Any] = {"value": value, "over": list(over)}
    given |= {"value": {"last": value, "best": best}} if best else {}
    given |= {"of": of or {}, "minus": minus} if minus is not None else {}
    rows = of_frame(data)
    if minus is None and of:
        rows = selected(rows, of)
    entry = {"says": says or f"{relation} {number:g}", "from": "table", relation: number}
    entry |= {"quantity": "level" if minus is None else "difference", "with": given}
    entry |= {} if margin is None else {"margin": margin}
    claims = claims_of({"claims": {"claim": entry}}, Path())
    check_names(claims, tables := {"table": rows})
    return Judged(judged(claims, tables))
