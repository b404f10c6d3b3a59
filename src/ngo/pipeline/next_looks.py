"""The next look at an undecided claim: its runs, at the values that the first seeds chose."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.common.registry import UserError
from ngo.pipeline.grid import resolve_run, runs_by_case
from ngo.pipeline.plan import Plan
from ngo.pipeline.work import seconds_taken
from ngo.training.spec import RunSpec
from verdicts.claims.claim import Claim

if TYPE_CHECKING:
    from verdicts.row import Row
    from verdicts.rows.selection import Tables
    from verdicts.statistics.evidence import Evidence


@dataclass(frozen=True)
class NextLook:
    """The next look at an undecided claim, and what it takes."""

    claim: str
    seeds: int
    """Those that there are."""
    look: int
    """The seeds of the next look."""
    chance: float
    """The probability that it decides the claim, if what was measured is true; NaN: not known."""
    entries: dict[str, dict]
    """The experiments with its runs, by name."""
    costs: dict[str, float]
    """The seconds that each of its runs takes, by id; those of finished runs are not here."""
    to_decide: float
    """The seconds of the seeds up to the first look with a power of 80 %; infinite if none has."""

    def seconds(self, others: Mapping[str, float]) -> float:
        """What its runs take besides those of other claims."""
        return sum(cost for run, cost in self.costs.items() if run not in others)


class NextLooks:
    """What more seeds of a tier's claims are, and take."""

    def __init__(
        self,
        config: Mapping,
        plan: Plan,
        tables: Tables,
        results: Path,
        made: dict[str, dict],
    ) -> None:
        self.config, self.plan, self.tables, self.results = config, plan, tables, results
        self.made = made
        self.origins: dict[str, tuple[str, dict]] = {}
        self.alike: dict[str, list[str]] = {}
        for name, entry in config["training"].items():
            if name in plan.training:
                for setting, case, spec in runs_by_case(f"training.{name}", config, entry):
                    self.origins.setdefault(spec.id, (setting, case))
                    self.alike.setdefault(_text(setting, case), []).append(spec.id)

    def of(self, row: Row, rows: Sequence[Row]) -> NextLook:
        """The next look at an undecided claim; ``rows`` are its own and those of its cells.

        Raises a UserError with the reason if more seeds can't decide it.
        """
        from verdicts.ledger import evidence_on
        from verdicts.statistics.judgement import UNDECIDED
        from verdicts.statistics.power import POWER

        ledger = self.plan.ledger
        claim = ledger.claims[row.claim]
        parts = [row]
        if claim.every_cell:
            parts = [each for each in rows if each.cell and each.verdict == UNDECIDED]
            if not parts:  # its cells differ, or some are not run
                raise UserError(row.reason)
        self._check(claim, parts)
        evidences = {}
        for part in parts:
            cell = claim.cells[part.cell] if part.cell else None
            where = cell.where if cell else {}
            expectation = cell.expectation if cell else claim.expectation
            evidences[part.cell] = evidence_on(claim, where, expectation, ledger, self.tables)
        taken = min(part.looks or 0 for part in parts)
        look = claim.looks[taken]
        chances = [
            math.prod(_chance(evidences[part.cell], at, part.family_size) for part in parts)
            for at in range(len(claim.looks))
        ]
        entries, costs, seeds = self._runs(claim, parts, look)
        enough = [at for at in range(taken, len(claim.looks)) if chances[at] >= POWER]
        more = (claim.looks[enough[0]] - seeds) / (look - seeds) if enough else math.inf
        return NextLook(
            claim=claim.id,
            seeds=seeds,
            look=look,
            chance=chances[taken],
            entries=entries,
            costs=costs,
            to_decide=more * sum(costs.values()) if enough else math.inf,
        )

    def _check(self, claim: Claim, parts: Sequence[Row]) -> None:
        """Raise a UserError if more seeds can't decide a claim."""
        if claim.universes is not None:
            raise UserError("it is judged over universes")
        if not claim.looks:
            raise UserError("its file has no looks for it")
        if min(part.looks or 0 for part in parts) == len(claim.looks):
            raise UserError(f"all {len(claim.looks)} looks are taken, with {claim.looks[-1]} seeds")
        members = [self.plan.ledger.claims[name] for name in claim.pooled] or [claim]
        for name in (name for member in members for name in member.tables):
            if name not in self.plan.training:
                raise UserError(f"{name} is measured, not trained: its config has its seeds")
        for part in parts:
            if part.pairs >= 3 and (part.low == part.high or "diverged" in part.reason):
                raise UserError(part.reason)

    def _runs(
        self, claim: Claim, parts: Sequence[Row], look: int
    ) -> tuple[dict[str, dict], dict[str, float], int]:
        """The experiments with the runs of the next look, what these take, and the seeds now."""
        from verdicts.ledger import compared_runs

        entries: dict[str, dict] = {}
        costs: dict[str, float] = {}
        fewest = look
        for member in [self.plan.ledger.claims[name] for name in claim.pooled] or [claim]:
            if not member.looks:
                raise UserError(f"its file has no looks for {member.id}, which is pooled")
            cells = [part.cell for part in parts] if member is claim else [""]
            for cell in cells:
                runs = compared_runs(member, cell, self.tables)
                seeds = sorted(int(seed) for seed in runs["seed"].unique())
                fewest = min(fewest, len(seeds))
                new = [seeds[-1] + 1 + k for k in range(look - len(seeds))]
                counted = runs[runs["seed"].isin(seeds[: member.looks[0]])].groupby("seed")["run"]
                chosen = sorted(counted.get_group(counted.size().idxmax()))
                if new:
                    entry, its = self._entry(member, chosen, new)
                    entries[member.added] = joined(entries.get(member.added), entry)
                    costs |= its
        return entries, costs, fewest

    def _entry(
        self, claim: Claim, runs: Sequence[str], seeds: list[int]
    ) -> tuple[dict, dict[str, float]]:
        """The experiment with these runs and other seeds, and what its runs take."""
        config, key = self.config, f"training.{claim.added}"
        for run in runs:
            if run not in self.origins:
                raise UserError(f"the run {run} in the tables is not one of this config")
        kept = self.made.get(claim.added)
        main = kept["settings"][0] if kept else self.origins[runs[0]][0]
        taken = []  # each case of the experiment, and the seconds of a run
        for run in runs:
            setting, case = self.origins[run]
            seconds = self._seconds(setting, case)
            own = case
            if setting != main:  # one experiment has all its cases in all its settings
                values = self.plan.runs[run].values()
                other = {name: values[name] for name in config["settings"][main] if name in values}
                own = {**other, **config["settings"][setting], **case}
            for seed in seeds:
                there, here = self._run(key, setting, case, seed), self._run(key, main, own, seed)
                if here.id != there.id:
                    raise UserError(f"{run} can't be written in the setting {main}")
            taken.append((dict(own), seconds))
        cases = [case for case, _ in taken]
        others = [case for case in (kept["compare"] if kept else ()) if case not in cases]
        taken += [(case, self._seconds(main, case)) for case in others]  # they get these seeds too
        costs = {
            spec.id: seconds
            for case, seconds in taken
            for spec in (self._run(key, main, case, seed) for seed in seeds)
            if seconds_taken(spec.id, self.results) is None
        }
        return {"settings": [main], "seeds": seeds, "compare": cases}, costs

    def _run(self, key: str, setting: str, case: Mapping, seed: int) -> RunSpec:
        """The run of a case in a setting, with a seed."""
        given = {**case, "seed": seed}
        return resolve_run(key, given, self.config, self.config["settings"][setting])

    def _seconds(self, setting: str, case: Mapping) -> float:
        """What a run of a case took, as a mean over its seeds with a record."""
        runs = self.alike[_text(setting, case)]
        found = [seconds_taken(each, self.results) for each in runs]
        taken = [each for each in found if each is not None]
        if not taken:
            raise UserError(f"no record in {self.results / 'runs'} says what {runs[0]} takes")
        return sum(taken) / len(taken)


def _text(setting: str, case: Mapping) -> str:
    return json.dumps([setting, case], sort_keys=True)


def _chance(found: Evidence, at: int, family: int) -> float:
    """The probability that the look ``at`` of the plan decides; NaN if it is not known."""
    from verdicts.statistics.estimates import ALPHA, FEWEST
    from verdicts.statistics.power import chance
    from verdicts.statistics.sequential import shares

    if found.pairs < FEWEST or not found.spread > 0:
        return math.nan
    return chance(found, found.plan[at], ALPHA * shares(found.plan)[at] / family)


def joined(one: Mapping | None, other: Mapping) -> dict:
    """An experiment with the cases and the seeds of two, which have one setting."""
    if one is None:
        return dict(other)
    more = [case for case in other["compare"] if case not in one["compare"]]
    seeds = sorted({*one["seeds"], *other["seeds"]})
    return {**one, "seeds": seeds, "compare": [*one["compare"], *more]}
