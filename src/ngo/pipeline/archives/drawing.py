"""Which runs and cases of an archive are made again, and how likely this misses a forgery."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

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
