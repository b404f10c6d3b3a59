"""The checks of ``ngo verify``.

A forger can compute the sums of changed files. So the parts must agree, and some runs and measured
cases, drawn by the verifier's seed (``drawing``), are made again and compared (``agreement``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ngo.common.registry import UserError
from ngo.data import download
from ngo.measures.measurement import MEASUREMENTS
from ngo.pipeline.archives.archive import Archive
from ngo.pipeline.archives.collect import of_this_code
from ngo.pipeline.archives.drawing import Drawn, Group, bases
from ngo.pipeline.archives.making_again import (
    Measured,
    compared,
    made_run,
    measure_again,
    train_again,
    where,
)
from ngo.pipeline.archives.packed_runs import FinishedRun, revisions
from ngo.pipeline.archives.run_tables import absent_run, needed_tables, relabelled
from ngo.pipeline.places import tidy_table
from ngo.pipeline.plan import Plan

# What was checked, how, and what differs, if anything does.
Check = tuple[str, str, str | None]

# Measurements of which a case takes minutes: measured again for claims that rest on it only.
LONG = ("theory",)


class Verification:
    """The checks of one archive."""

    def __init__(
        self,
        archive: Archive,
        planned: Plan,
        root: Path,
        longest: float | None = None,
        threads: int | None = None,
    ) -> None:
        """``planned`` is the plan of the archive. Data sets are read below ``root``."""
        self.archive, self.runs, self.planned = archive, archive.runs, planned
        self._root, self._threads = root, threads
        self.names, self.unchecked_runs = _drawable(archive, planned, longest)
        found, self.unchecked_tables = measured_tables(archive, planned)
        self._faults = {each.id: each.fault() for each in found}
        self.measured = {each.id: each for each in found if self._faults[each.id] is None}
        kinds = {where(run) for run in self.runs.values()}
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
        """What each claim rests on; without claims, the whole archive but for long cases."""
        if not claims:
            cases = {}
            for name, each in self.measured.items():
                if each.kind in LONG:
                    self.unchecked_tables[name] = "its cases take minutes; --claim draws among them"
                else:
                    cases[name] = range(len(each.cases))
            return [Group("", len(self.runs), self.names, cases)]
        found = []
        for basis in bases(claims, self.planned, self.measured):
            size = len(self.runs.keys() & {*basis.runs})
            found.append(replace(basis, size=size, runs=sorted({*basis.runs} & {*self.names})))
        return found

    def check_drawn(self, sample: int, groups: Sequence[Group], chosen: Sequence[Drawn]) -> None:
        """Raise a UserError if runs were asked for and none can be made, or for absent data."""
        if sample and any(group.size for group in groups) and not any(g.runs for g in groups):
            reasons = ", ".join(f"{count} {why}" for why, count in self.unchecked_runs.items())
            made_by = revisions(run.record for run in self.runs.values())
            raise UserError(
                f"verify: no run can be retrained: {reasons or 'the archive has none'}. Runs were "
                f"made by revision {made_by}."
            )
        for dataset in sorted(
            {self.planned.runs[name].dataset for drawn in chosen for name in drawn.runs}
        ):
            download.check(dataset, self._root)

    def made_again(self, chosen: Sequence[Drawn]) -> Iterator[Check]:
        """Make the drawn runs and cases again, each once."""
        for name in sorted({name for drawn in chosen for name in drawn.runs}):
            spec = self.planned.runs[name]
            again = partial(train_again, spec, self.planned, self._root, self._threads)
            yield name, *compared(made_run(self.runs[name]), again)
        cases = {(name, k) for drawn in chosen for name, ks in drawn.cases.items() for k in ks}
        for name, number in sorted(cases):
            each = self.measured[name]
            again = partial(measure_again, each, number, self.planned)
            yield each.said(number), *compared(each.made(number, self._made_on), again)


def measured_tables(archive: Archive, planned: Plan) -> tuple[list[Measured], dict[str, str]]:
    """The tables in an archive that can be measured again; why others can't, by their names."""
    found, unchecked = [], {}
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
                found.append(Measured(kind, name, archive.table(path), cases))
    for name in planned.partitions:
        if tidy_table(planned.tier, f"classes_{name}") in archive.members:
            unchecked[f"classes_{name}"] = "it counts samples of partitions"
    return found, unchecked


def _drawable(
    archive: Archive, planned: Plan, longest: float | None
) -> tuple[list[str], dict[str, int]]:
    """The runs that can be retrained here, sorted, and how many can't be, by reason."""
    unchecked = Counter()
    found = []
    for name, run in sorted(archive.runs.items()):
        if name not in planned.runs:
            unchecked["not in the archive's config"] += 1
        elif not of_this_code(run, planned.runs[name]):
            unchecked["of another results version"] += 1
        elif longest is not None and run.seconds > longest:
            unchecked["longer than --longest"] += 1
        else:
            found.append(name)
    return found, unchecked


def _other_final(run: FinishedRun) -> str | None:
    """The first value by which a record's last evaluation differs from the last row."""
    for name, column in run.columns.items():
        value = column[-1].item()
        wanted = None if value != value or value in (float("inf"), float("-inf")) else value
        if run.record["final"].get(name) != wanted:
            return f"{run.id}: {name} is {value} in its last row, another in its record"
    return None
