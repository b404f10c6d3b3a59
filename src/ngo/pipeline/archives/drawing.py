"""Which runs and cases of an archive are made again, and how likely this misses a forgery.

They are drawn from the whole archive, or from what a claim rests on: the rows that it selects
(``where``), and of these the ones that its quantity compares (mappings of columns among its
arguments, such as ``of`` and ``minus``). Runs of gates are not among them. A pooled claim rests on
what its claims rest on.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ngo.common.registry import unknown
from ngo.pipeline.archives.making_again import Measured
from ngo.pipeline.archives.run_tables import specs_of
from ngo.pipeline.plan import Plan
from verdicts.claims.claim import Claim, selections
from verdicts.rows.selection import Selection, matches

if TYPE_CHECKING:
    import pandas as pd


T = TypeVar("T", str, int)

# The shares of forged runs or cases for which the probability of missing all is printed.
SHARES = (0.01, 0.05, 0.1, 0.5, 1)


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
    #: How many runs it has in the archive.
    size: int
    #: The runs that can be drawn.
    runs: Sequence[str]
    #: The numbers of cases that can be drawn, by the name of the table.
    cases: Mapping[str, Sequence[int]]
    #: Tables that a claim reads too, whose rows can't be made again.
    unchecked: Sequence[str] = ()

    def drawn(self, sample: int, seed: int | None) -> Drawn:
        """``sample`` runs, and cases of each table, by ``seed``; None if nothing is drawn."""
        found = {name: drawn(numbers, sample, seed) for name, numbers in self.cases.items()}
        return Drawn(drawn(self.runs, sample, seed), found)

    def odds(self, drawn: Drawn) -> Iterator[str]:
        """What was made again, and how likely that misses a forgery."""
        if self.claim:
            rests = [f"{self.size} runs"] if self.size else []
            rests += [f"{len(numbers)} cases of {name}" for name, numbers in self.cases.items()]
            rests += [f"{name}, which is not checked" for name in self.unchecked]
            yield f"claim {self.claim} rests on {' and '.join(rests) or 'nothing in this archive'}"
        indent = "  " if self.claim else ""
        if self.runs or not self.claim:
            yield indent + _odds("runs retrained", len(self.runs), len(drawn.runs))
        for name, numbers in self.cases.items():
            done = f"cases of {name} measured again"
            yield indent + _odds(done, len(numbers), len(drawn.cases[name]))


def drawn(names: Sequence[T], sample: int, seed: int | None) -> list[T]:
    """``sample`` of the ``names``, or all, uniformly by ``seed``; sorted."""
    return sorted(random.Random(seed).sample(sorted(names), min(sample, len(names))))


def missed(drawable: int, sample: int, share: float) -> float:
    """How likely no forged one is among ``sample`` of the ``drawable``, drawn without replacement.

    This ``share`` of them is forged, at least one.
    """
    forged = max(1, math.ceil(share * drawable))
    return math.comb(drawable - forged, sample) / math.comb(drawable, sample) if drawable else 1.0


def _odds(done: str, size: int, count: int) -> str:
    lost = (f"{100 * f:g} %: {100 * missed(size, count, f):.1f} %" for f in SHARES)
    return (
        f"{count} of {size} {done}; the probability of missing a forgery, by the share of them "
        f"that is forged: {', '.join(lost)}"
    )


def bases(names: Iterable[str], planned: Plan, measured: Mapping[str, Measured]) -> list[Group]:
    """What each of the named claims rests on, of all runs of the plan and the measured tables.

    Raises a UserError for a name that no claim has.
    """
    claims = planned.ledger.claims
    for name in names:
        if name not in claims:
            raise unknown("claim", name, claims)
    return [_basis(claims[name], planned, measured) for name in dict.fromkeys(names)]


def _basis(claim: Claim, planned: Plan, measured: Mapping[str, Measured]) -> Group:
    import pandas as pd

    runs: set[str] = set()
    cases: dict[str, list[int]] = {}
    unchecked: list[str] = []
    for part in bases(claim.pooled, planned, measured):
        runs |= set(part.runs)
        for name, numbers in part.cases.items():
            cases[name] = sorted({*cases.get(name, ()), *numbers})
        unchecked += [name for name in part.unchecked if name not in unchecked]
    for name in claim.tables:
        if specs := specs_of(planned, name):
            facts = pd.DataFrame([{"run": spec.id, **spec.values()} for spec in specs])
            runs |= set(_compared(facts, claim)["run"])
        elif name in measured:
            cases[name] = _cases(measured[name], claim)
        else:
            unchecked.append(name)
    return Group(claim.id, len(runs), sorted(runs), cases, unchecked)


def _compared(rows: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """The rows that a claim selects and its quantity compares; conditions on absent columns hold.

    No row: nothing that the claim is about was run.
    """
    rows = rows[_meeting(rows, claim.where)]
    named = [where for _, where in selections(claim.id, claim) if set(where) <= set(rows)]
    if not named:
        return rows
    return rows[sum(_meeting(rows, where) for where in named) > 0]


def _meeting(rows: pd.DataFrame, where: Selection) -> pd.Series:
    import pandas as pd

    met = pd.Series(True, index=rows.index)
    for column, wanted in where.items():
        if column in rows:
            met &= matches(rows[column], wanted)
    return met


def _cases(measured: Measured, claim: Claim) -> list[int]:
    """The numbers of the cases of a measured table that a claim selects and compares."""
    rows = _compared(measured.table, claim)
    names = list(measured.cases[0].facts)
    if not names:
        return [0] if len(rows) else []
    found = set(rows[names].drop_duplicates().itertuples(index=False, name=None))
    return [k for k, case in enumerate(measured.cases) if tuple(case.facts.values()) in found]
