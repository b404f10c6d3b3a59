"""The checks of ``ngo verify``.

A forger can compute the sums of changed files. So the parts must agree, and some runs and measured
cases, drawn by the verifier's seed, are made again and compared (``reproduction``).

They are drawn from the whole archive, or from what a claim rests on: of the rows that it selects
(``where``), those that its quantity compares (arguments such as ``of`` and ``minus``), without the
runs of gates. A pooled claim rests on the runs of its claims.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

import pandas as pd

from ngo.data import download
from ngo.measures.measurement import MEASUREMENTS
from ngo.pipeline.archives import rerun
from ngo.pipeline.archives.archive import Archive
from ngo.pipeline.archives.finished_runs import FinishedRun, of_this_code, revisions
from ngo.pipeline.archives.rerun import Measured, meeting
from ngo.pipeline.archives.unpack import absent_run, needed_tables, relabelled
from ngo.pipeline.paths import tidy_table
from ngo.pipeline.plan import Plan
from verdicts.claims import Claim, selections
from verdicts.registry import UserError, one_of

T = TypeVar("T", str, int)

# The shares of forged runs or cases for which the probability of missing all is printed.
SHARES = (0.01, 0.05, 0.1, 0.5, 1)


@dataclass(frozen=True)
class Group:
    """A population to draw from: everything in an archive, or the basis of one claim."""

    #: The claim's id; empty for the whole archive.
    claim: str
    #: Its runs, and the numbers of its cases by the name of the table.
    runs: Sequence[str]
    cases: Mapping[str, Sequence[int]]
    #: Further tables of a claim; their rows can't be made again.
    unchecked: Sequence[str] = ()


def drawn(names: Sequence[T], sample: int, seed: int | None) -> list[T]:
    """``sample`` of the ``names``, or all, uniformly by ``seed``; sorted."""
    return sorted(random.Random(seed).sample(sorted(names), min(sample, len(names))))


def missed(drawable: int, sample: int, share: float) -> float:
    """The probability of no forged one among ``sample`` of ``drawable``, without replacement.

    This ``share`` of them is forged, at least one.
    """
    forged = max(1, math.ceil(share * drawable))
    return math.comb(drawable - forged, sample) / math.comb(drawable, sample) if drawable else 1.0


def bases(names: Iterable[str], planned: Plan, measured: Mapping[str, Measured]) -> list[Group]:
    """The basis of each named claim, of all runs of the plan and the measured tables.

    Raises a UserError for a name that no claim has.
    """
    claims = planned.ledger.claims

    @cache
    def facts(table: str) -> pd.DataFrame:
        return pd.DataFrame([{"run": spec.id, **spec.values()} for spec in planned.runs_of(table)])

    def parts(claim: Claim) -> list[Claim]:
        return [claim, *(part for name in claim.pooled for part in parts(claims[name]))]

    def basis(claim: Claim) -> Group:
        runs: set[str] = set()
        cases: dict[str, set[int]] = {}
        unchecked: dict[str, None] = {}
        for part in parts(claim):
            for name in part.tables:
                if len(facts(name)):
                    runs |= {*_compared(facts(name), part)["run"]}
                elif name in measured:
                    cases.setdefault(name, set()).update(_cases(measured[name], part))
                else:
                    unchecked[name] = None
        numbers = {name: sorted(chosen) for name, chosen in cases.items()}
        return Group(claim.id, sorted(runs), numbers, [*unchecked])

    return [basis(claims[one_of("claim", name, claims)]) for name in dict.fromkeys(names)]


def _compared(rows: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """The rows that a claim selects and its quantity compares; conditions on absent columns hold.

    No row: nothing that the claim is about was run.
    """
    sides = [side for _, side in selections(claim.id, claim) if {*side} <= {*rows}] or [{}]
    return rows[meeting(rows, claim.where) & (sum(meeting(rows, side) for side in sides) > 0)]


def _cases(measured: Measured, claim: Claim) -> list[int]:
    """The numbers of the cases of a measured table that a claim selects and compares."""
    rows = _compared(measured.table, claim)
    return [k for k, case in enumerate(measured.cases) if meeting(rows, case.facts).any()]


# What was checked, how, and what differs, if anything does.
Check = tuple[str, str, str | None]

# Measurements with cases of minutes, which are drawn only with ``--claim``.
LONG = ("theory",)


class Verification:
    """The checks of one archive."""

    def __init__(
        self, archive: Archive, planned: Plan, root: Path, longest: float | None = None
    ) -> None:
        """``planned`` is the plan of the archive. Data sets are read below ``root``."""
        self.archive, self.runs, self.planned = archive, archive.runs, planned
        self._root = root
        reasons = {name: _not_drawn(run, planned, longest) for name, run in self.runs.items()}
        self.names = sorted(name for name, why in reasons.items() if why is None)
        self.unchecked_runs = Counter(filter(None, reasons.values()))
        measured, self.unchecked_tables = measured_tables(archive, planned)
        self._faults = {table.id: table.fault() for table in measured}
        self.measured = {table.id: table for table in measured if self._faults[table.id] is None}
        kinds = {rerun.where(run) for run in self.runs.values()}
        self._made_on = kinds.pop() if len(kinds) == 1 else None

    def without_training(self) -> Iterator[Check]:
        """The checks of what the archive says of itself."""
        archive, planned = self.archive, self.planned
        yield "sums", f"{len(archive.members)} files of the archive are intact", None
        other = next(filter(None, map(_other_final, self.runs.values())), None)
        told = "they have the config's values and the last rows of the runs"
        yield "records", told, other or relabelled(archive, planned)
        absent = absent_run(archive, planned, needed_tables(archive, planned))
        told = "all that the tables and figures are made from"
        yield "runs", told, f"{absent} is not in the archive" if absent else None
        for name, fault in self._faults.items():
            yield name, "its cases are those of the config", fault

    def groups(self, claims: Sequence[str]) -> list[Group]:
        """The basis of each claim in the archive; without claims, all but long cases."""
        if claims:
            found = bases(claims, self.planned, self.measured)
            return [replace(g, runs=[run for run in g.runs if run in self.runs]) for g in found]
        cases = {name: range(len(table.cases)) for name, table in self.measured.items()}
        for name in [name for name in cases if self.measured[name].kind in LONG]:
            self.unchecked_tables[name] = "its cases take minutes; --claim draws among them"
            del cases[name]
        return [Group("", [*self.runs], cases)]

    def draw(self, group: Group, sample: int, seed: int | None) -> Group:
        """``sample`` of its runs that can be made here, and of the cases of each table."""
        cases = {name: drawn(numbers, sample, seed) for name, numbers in group.cases.items()}
        return replace(group, runs=drawn(self._drawable(group), sample, seed), cases=cases)

    def _drawable(self, group: Group) -> list[str]:
        return sorted({*self.names} & {*group.runs})

    def odds(self, group: Group, chosen: Group) -> Iterator[str]:
        """Lines on what was made again, with the probability of missing a forgery."""
        indent, drawable = "  " * bool(group.claim), self._drawable(group)
        if group.claim:
            rests = [f"{len(group.runs)} runs"] if group.runs else []
            rests += [f"{len(numbers)} cases of {name}" for name, numbers in group.cases.items()]
            rests += [f"{name}, which is not checked" for name in group.unchecked]
            yield f"claim {group.claim} rests on {' and '.join(rests) or 'nothing in this archive'}"
        made = [("runs retrained", drawable, chosen.runs)] if drawable or not indent else []
        made += [
            (f"cases of {name} measured again", numbers, chosen.cases[name])
            for name, numbers in group.cases.items()
        ]
        for done, among, again in made:
            size, count = len(among), len(again)
            lost = (f"{100 * f:g} %: {100 * missed(size, count, f):.1f} %" for f in SHARES)
            yield (
                f"{indent}{count} of {size} {done}; the probability of missing a forgery, by the "
                f"share of them that is forged: {', '.join(lost)}"
            )

    def check_drawn(self, sample: int, groups: Sequence[Group], chosen: Sequence[Group]) -> None:
        """Raise a UserError if runs were asked for and none can be made, or for absent data."""
        names = {name for drawn in chosen for name in drawn.runs}
        if sample and not names and any(group.runs for group in groups):
            reasons = ", ".join(f"{count} {why}" for why, count in self.unchecked_runs.items())
            made_by = revisions(run.record for run in self.runs.values())
            raise UserError(
                f"verify: no run can be retrained: {reasons or 'the archive has none'}. Runs were "
                f"made by revision {made_by}."
            )
        for dataset in sorted({self.planned.runs[name].dataset for name in names}):
            download.check(dataset, self._root)

    def made_again(self, chosen: Sequence[Group], threads: int | None = None) -> Iterator[Check]:
        """Make the drawn runs and cases again, each once."""
        for name in sorted({name for drawn in chosen for name in drawn.runs}):
            spec = self.planned.runs[name]
            again = partial(rerun.train_again, spec, self.planned, self._root, threads)
            yield name, *rerun.compared(rerun.made_run(self.runs[name]), again)
        cases = {(name, k) for drawn in chosen for name, ks in drawn.cases.items() for k in ks}
        for name, number in sorted(cases):
            table = self.measured[name]
            again = partial(rerun.measure_again, table, number, self.planned)
            yield table.said(number), *rerun.compared(table.made(number, self._made_on), again)


def measured_tables(archive: Archive, planned: Plan) -> tuple[list[Measured], dict[str, str]]:
    """The tables in an archive that can be measured again; why others can't, by their names."""
    measured, unchecked = [], {}
    for kind, entries in planned.measures.items():
        entry = MEASUREMENTS[kind]
        for name, values in entries.items():
            path = tidy_table(planned.tier, f"{kind}_{name}")
            if path not in archive.members:
                continue
            if entry.on_models or entry.run_fields:
                why = "kept models" if entry.on_models else "time, or runs"
                unchecked[f"{kind}_{name}"] = f"it measures {why}"
            else:
                cases = entry.parts(entry.read(f"{kind}.{name}", values))
                measured.append(Measured(kind, name, archive.table(path), cases))
    for name in planned.partitions:
        if tidy_table(planned.tier, f"classes_{name}") in archive.members:
            unchecked[f"classes_{name}"] = "it counts samples of partitions"
    return measured, unchecked


def _not_drawn(run: FinishedRun, planned: Plan, longest: float | None) -> str | None:
    """Why a run can't be retrained here; None if it can be."""
    if run.id not in planned.runs:
        return "not in the archive's config"
    if not of_this_code(run, planned.runs[run.id]):
        return "of another results version"
    too_long = longest is not None and run.seconds > longest
    return "longer than --longest" if too_long else None


def _other_final(run: FinishedRun) -> str | None:
    """The first value by which a record's last evaluation differs from the last row."""
    for name, column in run.columns.items():
        value = column[-1].item()
        wanted = None if value != value or value in (float("inf"), float("-inf")) else value
        if run.record["final"].get(name) != wanted:
            return f"{run.id}: {name} is {value} in its last row, another in its record"
    return None
