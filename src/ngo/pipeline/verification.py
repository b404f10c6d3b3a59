"""The course of ``ngo verify``: what is checked, what is drawn, and how much that says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ngo.common.registry import UserError
from ngo.data import download
from ngo.pipeline import verify as stage
from ngo.pipeline.archive import Members
from ngo.pipeline.claim_basis import bases
from ngo.pipeline.packed_runs import FinishedRun, revisions
from ngo.pipeline.places import tidy_table
from ngo.pipeline.plan import Plan
from ngo.pipeline.remeasuring import Remeasuring, measured_tables
from ngo.pipeline.retraining import Retraining

# What was checked, how, and what differs, if anything does.
Check = tuple[str, str, str | None]

# The shares of forged runs or cases of a claim for which the odds are printed.
OF_A_CLAIM = (0.1, 0.5, 1)


@dataclass(frozen=True)
class Drawn:
    """The runs and the cases of each table that are made again."""

    runs: Sequence[str]
    cases: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Group:
    """What is drawn from: everything in an archive, or what one claim rests on."""

    #: Empty: the whole archive.
    claim: str
    #: How many runs it has.
    size: int
    #: The runs that can be drawn.
    runs: Sequence[str]
    #: The numbers of cases that can be drawn, by the name of the table.
    cases: Mapping[str, Sequence[int]]
    #: Tables of a claim that can't be made again.
    unchecked: Sequence[str] = ()

    def drawn(self, sample: int, cases: int, seed: int | None) -> Drawn:
        """``sample`` runs, and ``cases`` of each table, by ``seed``; None if nothing is drawn."""
        runs = stage.drawn(self.runs, sample, seed) if sample else []
        found = {
            name: stage.drawn(numbers, cases, seed) if cases else []
            for name, numbers in self.cases.items()
        }
        return Drawn(runs, found)

    def odds(self, drawn: Drawn) -> Iterator[str]:
        """What was made again, and how likely that misses a forgery."""
        if not self.claim:
            yield _odds_of_runs(len(drawn.runs), len(self.runs))
            for name, numbers in self.cases.items():
                count = len(drawn.cases[name])
                lost = _percent(stage.missed(len(numbers), count, 0))
                yield (
                    f"{count} of {len(numbers)} cases of {name} measured again; the probability of "
                    f"missing a single forged case: {lost}"
                )
            return
        rests = [f"{self.size} runs"] if self.size else []
        rests += [f"{len(numbers)} cases of {name}" for name, numbers in self.cases.items()]
        rests += [f"{name}, which is not checked" for name in self.unchecked]
        yield f"claim {self.claim} rests on {' and '.join(rests) or 'nothing in this archive'}"
        if self.runs:
            yield _odds_of_claim("runs", len(drawn.runs), len(self.runs), "retrained")
        for name, numbers in self.cases.items():
            what, count = f"cases of {name}", len(drawn.cases[name])
            yield _odds_of_claim(what, count, len(numbers), "measured again")


class Verification:
    """The checks of one archive."""

    def __init__(
        self,
        members: Members,
        runs: Mapping[str, FinishedRun],
        planned: Plan,
        root: Path,
        longest: float | None = None,
        other_code: bool = False,
        threads: int | None = None,
    ) -> None:
        """``runs`` and ``planned`` are those of the archive. Data sets are read below ``root``."""
        self.members, self.runs, self.planned, self._root = members, runs, planned, root
        self.names, self.unchecked_runs = stage.drawable(
            self.runs, self.planned, longest, other_code
        )
        found, self.unchecked_tables = measured_tables(self.members, self.planned)
        self._faults = {each.id: each.fault() for each in found}
        self.measured = {each.id: each for each in found if self._faults[each.id] is None}
        for name in self.planned.partitions:
            if tidy_table(self.planned.tier, f"classes_{name}") in self.members:
                self.unchecked_tables[f"classes_{name}"] = "it counts samples of partitions"
        self._retraining = Retraining(root, self.planned.plugins, threads)
        self._remeasuring = Remeasuring(self.planned, self.runs.values())

    def without_training(self) -> Iterator[Check]:
        """The checks of what the archive says of itself."""
        yield "sums", f"{len(self.members)} files of the archive are intact", None
        for name, fault in stage.faults(self.members, self.runs, self.planned):
            yield name, "as in the runs", fault
        for name, fault in self._faults.items():
            yield name, "its cases are those of the config", fault

    def groups(self, claims: Sequence[str]) -> list[Group]:
        """What each claim rests on; without claims, the whole archive."""
        if not claims:
            cases = {name: range(len(each.cases)) for name, each in self.measured.items()}
            return [Group("", len(self.runs), self.names, cases)]
        can = set(self.names)
        return [
            Group(
                basis.claim,
                len(self.runs.keys() & set(basis.runs)),
                [name for name in basis.runs if name in can],
                basis.cases,
                basis.unchecked,
            )
            for basis in bases(claims, self.planned, self.measured)
        ]

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


def _odds_of_runs(count: int, names: int) -> str:
    odds = (f"{100 * f:g} %: {_percent(stage.caught(count, f))}" for f in stage.SHARES)
    return (
        f"{count} of {names} runs retrained; the probability of drawing a forged run, by the share "
        f"of runs that are forged: {', '.join(odds)}"
    )


def _odds_of_claim(what: str, count: int, size: int, done: str) -> str:
    lost = (f"{100 * f:g} %: {_percent(stage.missed(size, count, f))}" for f in OF_A_CLAIM)
    return (
        f"  {count} of {size} {what} {done}; the probability of missing a forgery, by the share of "
        f"them that is forged: {', '.join(lost)}"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
