"""How often verdicts are false where the truth is known, by simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from verdicts.statistics.evidence import evidence
from verdicts.statistics.expectation import Expectation
from verdicts.statistics.judgement import DECIDED, EQUIVALENT, FAILS, HOLDS, Verdict, judge

SEEDS = (3, 5, 10, 20)

MARGIN = 1.0
"""In standard deviations, as are all values here."""

BELOW_MARGIN = "below_margin"
"""What a verdict may say besides: the effect is real, and smaller than the margin."""

SAID = (*DECIDED, BELOW_MARGIN)
BOTH = {HOLDS, BELOW_MARGIN}

# Noise of mean 0 and standard deviation 1. Paired: the difference of two skewed values.
NOISE: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "normal": lambda stream, shape: stream.standard_normal(shape),
    "heavy tails": lambda stream, shape: stream.standard_t(3, shape) / np.sqrt(3),
    "paired": lambda stream, shape: (
        (stream.exponential(1, shape) - stream.exponential(1, shape)) / np.sqrt(2)
    ),
    "skewed": lambda stream, shape: stream.exponential(1, shape) - 1,
}


@dataclass(frozen=True)
class Situation:
    """A truth, what is claimed of it, and which verdicts are right."""

    name: str
    expected: str
    """The claim: ``Expectation.relation``."""
    means: tuple[float, ...]
    """The true means of the claims of a family."""
    right: tuple[tuple[str, ...], ...]
    """What is true of each claim (of ``SAID``)."""
    printed: float | None = None
    """The value that the paper prints; None: it is drawn as one more seed is."""

    def expectations(self, drawn: float) -> list[Expectation]:
        """What each claim says; ``drawn`` is the paper's value if it is drawn."""
        if self.expected == "paper":
            value = drawn if self.printed is None else self.printed
            return [Expectation("paper", value, MARGIN)]
        margin = MARGIN if len(self.means) == 1 else None
        return [Expectation(self.expected, 0.0, margin) for _ in self.means]


def _single(name: str, expected: str, mean: float, *right: str, **more: float) -> Situation:
    return Situation(name, expected, (mean,), (right,), **more)


SITUATIONS = (
    _single("above 0: the mean is 0", "above", 0.0, EQUIVALENT, BELOW_MARGIN),
    _single("above 0: the mean is 1, at the margin", "above", 1.0, HOLDS),
    _single("above 0: the mean is 2", "above", 2.0, HOLDS),
    _single("above 0: the mean is −1", "above", -1.0, FAILS),
    _single("near 0: the mean is 0", "near", 0.0, HOLDS),
    _single("near 0: the mean is 1, at the margin", "near", 1.0),
    _single("near 0: the mean is 2", "near", 2.0, FAILS),
    _single("paper: its value is one more of our seeds", "paper", 0.0, HOLDS),
    _single("paper: its value is 1 off, at the margin", "paper", 0.0, printed=1.0),
    _single("paper: its value is 5 off", "paper", 0.0, FAILS, printed=5.0),
    Situation("6 claims above 0: all means are 0", "above", (0.0,) * 6, ((),) * 6),
    Situation(
        "6 claims above 0: 3 means are 0, 3 are 2",
        "above",
        (0.0,) * 3 + (2.0,) * 3,
        ((),) * 3 + ((HOLDS,),) * 3,
    ),
    _single("above 0: the mean is 0.5", "above", 0.5, HOLDS, EQUIVALENT, BELOW_MARGIN),
)


def error_rates(
    simulations: int,
    situations: Iterable[Situation] = SITUATIONS,
    noises: Iterable[str] = tuple(NOISE),
    seeds: Iterable[int] = SEEDS,
) -> pd.DataFrame:
    """One row per situation, noise and number of seeds.

    Columns: ``false_holds``, ``false_fails``, ``false_equivalent``: the shares of simulated
    families with this verdict where it is not true (at a margin's edge, neither ``holds`` nor
    ``fails`` is true of ``near`` and ``paper``); ``false_below_margin``: with an effect that is
    said to be real and smaller than the margin, where it is not smaller; ``false``: with any.
    ``power``: the share of the claims with a true verdict that get it, ``both``: of those with a
    real effect below the margin of which this is said; NaN if there are none.
    """
    records: list[dict[str, object]] = []
    for situation in situations:
        for noise in noises:
            for count in seeds:
                stream = np.random.default_rng([count, len(records)])
                tally = Tally(situation)
                for family, expectations, paper in simulated(
                    situation, noise, count, simulations, stream
                ):
                    pairs = zip(family, expectations, strict=True)
                    tally.add(judge([evidence(*each) for each in pairs]), paper)
                records.append(
                    {"situation": situation.name, "noise": noise, "seeds": count, **tally.shares}
                )
    return pd.DataFrame(records)


def simulated(
    situation: Situation, noise: str, count: int, simulations: int, stream: np.random.Generator
) -> Iterator[tuple[np.ndarray, list[Expectation], float]]:
    """Families: the values of each claim, [claims, ``count``], what it says, the paper's value."""
    drawn = NOISE[noise](stream, (simulations,))
    values = NOISE[noise](stream, (simulations, len(situation.means), count))
    values += np.array(situation.means)[:, None]
    for family, paper in zip(values, drawn, strict=True):
        yield family, situation.expectations(paper), paper


class Tally:
    """How often verdicts on simulated families were false, and how often true ones were found."""

    def __init__(self, situation: Situation) -> None:
        self.situation = situation
        self.families = self.any_false = self.found = self.findable = self.both = self.real = 0
        self.false = dict.fromkeys(SAID, 0)

    def add(self, judged: Sequence[Verdict], paper: float) -> None:
        """Count the verdicts on a family."""
        pairs = [
            ({each.verdict} | ({BELOW_MARGIN} if each.below_margin else set()), true)
            for each, true in zip(judged, _true(self.situation, paper), strict=True)
        ]
        wrong = {each for said, true in pairs for each in said & set(SAID) - true}
        for each in wrong:
            self.false[each] += 1
        self.families += 1
        self.any_false += bool(wrong)
        self.found += sum(bool(said & true - {BELOW_MARGIN}) for said, true in pairs)
        self.findable += sum(bool(true) for _, true in pairs)
        self.both += sum(said >= BOTH for said, true in pairs if true >= BOTH)
        self.real += sum(true >= BOTH for _, true in pairs)

    @property
    def shares(self) -> dict[str, float]:
        """The columns of ``error_rates``."""
        return {
            **{f"false_{name}": count / self.families for name, count in self.false.items()},
            "false": self.any_false / self.families,
            "power": self.found / self.findable if self.findable else float("nan"),
            "both": self.both / self.real if self.real else float("nan"),
        }


def _true(situation: Situation, paper: float) -> list[set[str]]:
    """What is true of each claim; that a drawn value is near is true only if it is."""
    drawn = situation.expected == "paper" and situation.printed is None
    far = drawn and abs(paper) > MARGIN
    return [set() if far else set(right) for right in situation.right]
