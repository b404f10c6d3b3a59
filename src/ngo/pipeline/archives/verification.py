"""The checks of ``ngo verify``.

A forger can compute the sums of changed files. So the parts must agree (``consistency``), and some
runs and measured cases, drawn by the verifier's seed, are made again and compared (``drawing``,
``retraining``, ``remeasuring``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ngo.common.registry import UserError
from ngo.data import download
from ngo.pipeline.archives.archive import Archive
from ngo.pipeline.archives.claim_basis import bases
from ngo.pipeline.archives.collect import of_this_code
from ngo.pipeline.archives.consistency import faults
from ngo.pipeline.archives.drawing import Drawn, Group
from ngo.pipeline.archives.packed_runs import FinishedRun, revisions
from ngo.pipeline.archives.remeasuring import Remeasuring, measured_tables
from ngo.pipeline.archives.retraining import Retraining
from ngo.pipeline.places import tidy_table
from ngo.pipeline.plan import Plan

# What was checked, how, and what differs, if anything does.
Check = tuple[str, str, str | None]


class Verification:
    """The checks of one archive."""

    def __init__(
        self,
        archive: Archive,
        planned: Plan,
        root: Path,
        longest: float | None = None,
        other_version: bool = False,
        threads: int | None = None,
    ) -> None:
        """``planned`` is the plan of the archive. Data sets are read below ``root``."""
        self.archive, self.runs, self.planned, self._root = archive, archive.runs, planned, root
        self.names, self.unchecked_runs = drawable(self.runs, planned, longest, other_version)
        found, self.unchecked_tables = measured_tables(archive, planned)
        self._faults = {each.id: each.fault() for each in found}
        self.measured = {each.id: each for each in found if self._faults[each.id] is None}
        for name in planned.partitions:
            if tidy_table(planned.tier, f"classes_{name}") in archive.members:
                self.unchecked_tables[f"classes_{name}"] = "it counts samples of partitions"
        self._retraining = Retraining(root, planned.plugins, threads)
        self._remeasuring = Remeasuring(planned, self.runs.values())

    def without_training(self) -> Iterator[Check]:
        """The checks of what the archive says of itself."""
        yield "sums", f"{len(self.archive.members)} files of the archive are intact", None
        yield from faults(self.archive, self.planned)
        for name, fault in self._faults.items():
            yield name, "its cases are those of the config", fault

    def groups(self, claims: Sequence[str]) -> list[Group]:
        """What each claim rests on; without claims, the whole archive."""
        if not claims:
            cases = {name: range(len(each.cases)) for name, each in self.measured.items()}
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
            yield name, *self._retraining.difference(self.runs[name], self.planned.runs[name])
        cases = {(name, k) for drawn in chosen for name, ks in drawn.cases.items() for k in ks}
        for name, number in sorted(cases):
            each = self.measured[name]
            yield each.said(number), *self._remeasuring.difference(each, number)


def drawable(
    runs: Mapping[str, FinishedRun], planned: Plan, longest: float | None, other_version: bool
) -> tuple[list[str], dict[str, int]]:
    """The runs that can be retrained here, sorted, and how many can't be, by reason.

    Runs of another results version are among them if ``other_version``.
    """
    unchecked = {"not in the archive's config": 0, "of another results version": 0, "too long": 0}
    found = []
    for name, run in sorted(runs.items()):
        if name not in planned.runs:
            unchecked["not in the archive's config"] += 1
        elif not (other_version or of_this_code(run, planned.runs[name])):
            unchecked["of another results version"] += 1
        elif longest is not None and run.seconds > longest:
            unchecked["too long"] += 1
        else:
            found.append(name)
    return found, {reason: count for reason, count in unchecked.items() if count}
