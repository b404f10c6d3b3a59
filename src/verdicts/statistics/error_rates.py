"""How often verdicts are false where the truth is known, by simulation.

A case is a row of a table: its columns, and a function that draws a family of claims and judges it.
The columns of what is found: ``false_holds``, ``false_fails``, …: the shares of simulated families
with this verdict where it is not true; ``false``: with any; ``power``: the share of the claims with
a true verdict that get it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, product

import numpy as np

from verdicts.lazy import pd
from verdicts.statistics import judgement
from verdicts.statistics.estimates import ALPHA
from verdicts.statistics.evidence import Evidence, Expectation, evidence, unpaired_evidence
from verdicts.statistics.judgement import Verdict, judge, judge_multiverses
from verdicts.statistics.multiverse import LEAST, SOME, examined, sides
from verdicts.statistics.planning import Plan, over_looks
from verdicts.statistics.samples import TESTS

SEEDS = (3, 5, 10, 20)

#: In standard deviations, as are all values here.
MARGIN = 1.0

ABOVE = Expectation("above", 0.0, MARGIN)

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
    #: The claim: ``Expectation.relation``.
    expected: str
    #: The true means of the claims of a family.
    means: tuple[float, ...]
    #: What is true of each claim (of ``DECIDED``).
    right: tuple[tuple[str, ...], ...]
    #: How far the value that the paper prints is from the mean; None: as one more seed is.
    printed: float | None = None

    def expectations(self, drawn: float) -> list[Expectation]:
        """What each claim says; ``drawn`` is how far the paper's value is if it is drawn."""
        if self.expected == "paper":
            off = drawn if self.printed is None else self.printed
            return [Expectation("paper", self.means[0] + off)]
        margin = MARGIN if len(self.means) == 1 else None
        return [Expectation(self.expected, 0.0, margin) for _ in self.means]


@dataclass(frozen=True)
class Judged:
    """What is said of a claim, what is true of it, and numbers, whose means are columns."""

    said: str
    true: set[str]
    numbers: dict[str, float] = field(default_factory=dict)


#: The columns of a case, and how a family is drawn and judged: at each look, its claims.
Case = tuple[dict[str, object], Callable[[np.random.Generator], Iterable[list[Judged]]]]


def _rates(simulations: int, cases: Iterable[Case], names: Sequence[str]) -> pd.DataFrame:
    """One row for each case and look; ``names`` are the verdicts that may be false."""
    records = []
    for k, (columns, families) in enumerate(cases):
        stream = np.random.default_rng(k)
        looks = zip(*(families(stream) for _ in range(simulations)), strict=True)
        records += [{**columns, **_shares(look, names)} for look in looks]
    return pd.DataFrame(records)


def _shares(families: Sequence[Sequence[Judged]], names: Sequence[str]) -> dict[str, float]:
    """How often verdicts with these ``names`` were false, and true ones given; mean numbers."""
    claims = list(chain(*families))
    means = pd.DataFrame([claim.numbers for claim in claims]).mean().to_dict()
    wrong = [{c.said for c in family if c.said not in c.true} for family in families]
    return {
        **means,
        **{f"false_{name}": share(name in said for said in wrong) for name in names},
        "false": share(not said.isdisjoint(names) for said in wrong),
        "power": share(claim.said in claim.true for claim in claims if claim.true),
    }


def share(truths: Iterable[bool]) -> float:
    """The share that is true; NaN of nothing."""
    values = list(truths)
    return sum(values) / len(values) if values else float("nan")


def _single(name: str, expected: str, mean: float, *right: str, **more: float) -> Situation:
    return Situation(name, expected, (mean,), (right,), **more)


def _six(mean: float) -> Situation:
    name = f"6 claims above 0: 3 means are 0, 3 are {mean:g}"
    return Situation(name, "above", (0.0,) * 3 + (mean,) * 3, ((),) * 3 + ((judgement.HOLDS,),) * 3)


#: Those of one claim about a mean.
OF_MEANS = (
    _single("above 0: the mean is 0", "above", 0.0, judgement.EQUIVALENT),
    _single("above 0: the mean is 0.5", "above", 0.5, judgement.HOLDS, judgement.EQUIVALENT),
    _single("above 0: the mean is 1, at the margin", "above", 1.0, judgement.HOLDS),
    _single("above 0: the mean is 2", "above", 2.0, judgement.HOLDS),
    _single("above 0: the mean is −1", "above", -1.0, judgement.REVERSED),
    _single("near 0: the mean is 0", "near", 0.0, judgement.HOLDS),
    _single("near 0: the mean is 1, at the margin", "near", 1.0),
    _single("near 0: the mean is 2", "near", 2.0, judgement.FAILS),
)

SITUATIONS = (
    *OF_MEANS,
    _single("paper: a level of 20, as one more of our seeds", "paper", 20.0, judgement.CONSISTENT),
    _single("paper: a gap of 2, as one more of our seeds", "paper", 2.0, judgement.CONSISTENT),
    _single("paper: a level of 20, and 5 off", "paper", 20.0, judgement.NOT_MET, printed=5.0),
    Situation("6 claims above 0: all means are 0", "above", (0.0,) * 6, ((),) * 6),
    _six(2.0),
)

PLAN = (10, 20, 40, 80)

#: What is simulated with a plan of looks.
SEQUENTIAL = (
    *(s for s in SITUATIONS if s.means in ((0.0,), (0.5,), (1.0,), (20.0,))),
    *(s for s in SITUATIONS if s.means == (0.0,) * 6),
    *(_six(0.5), _six(1.0)),
)

#: The number of choices of signs, and of runs.
DRAWS, SPLITS = 10_000, 2_000

#: One look each.
SINGLE_LOOKS: tuple[Plan, ...] = tuple((n,) for n in SEEDS)

TUNED_SEEDS = 10
#: How many values each side of a claim has: the first is claimed to be above the second.
TRIED = ((1, 1), (4, 1), (8, 1), (12, 1), (8, 4), (48, 8), (8, 8))
#: Correlations of a run's held-out score, by which values are chosen, and its number.
ALIKE = (0.5, 1.0)


def error_rates(
    simulations: int,
    situations: Iterable[Situation] = SITUATIONS,
    noises: Iterable[str] = tuple(NOISE),
    plans: Iterable[Plan] = SINGLE_LOOKS,
) -> pd.DataFrame:
    """One row per situation, noise, plan and look; one number of seeds is one look.

    At a margin's edge, neither ``holds`` nor ``fails`` is true of ``near``. Seeds are added to the
    undecided claims of a family alone, so that its claims are at different looks. ``seeds`` is the
    look, and ``used`` the mean number of seeds of a claim so far.
    """
    cases: Iterable[Case] = (
        ({"situation": situation.name, "noise": noise}, partial(_looks, situation, noise, plan))
        for situation, noise, plan in product(situations, noises, plans)
    )
    return _rates(simulations, cases, judgement.DECIDED).astype({"seeds": int})


def _looks(
    situation: Situation, noise: str, plan: Plan, stream: np.random.Generator
) -> Iterator[list[Judged]]:
    """The verdicts on a family after each look."""
    expectations = situation.expectations(float(NOISE[noise](stream, ())))
    values = NOISE[noise](stream, (len(situation.means), plan[-1]))
    values += np.array(situation.means)[:, None]
    found: list[list[Evidence]] = [[] for _ in values]
    judged: list[Verdict] = []
    for look in plan:
        for k, seeds in enumerate(values):
            if not judged or judged[k].verdict == judgement.UNDECIDED:
                found[k].append(evidence(seeds[:look], expectations[k], DRAWS))
        judged = judge([over_looks(looks, plan) for looks in found])
        yield [
            Judged(verdict.verdict, set(right), {"seeds": look, "used": plan[len(looks) - 1]})
            for verdict, right, looks in zip(judged, situation.right, found, strict=True)
        ]


#: Runs of both sides that are not paired, and how much wider the first side spreads.
UNPAIRED = ((5, 5, 1), (10, 10, 1), (10, 10, 3), (5, 20, 1), (5, 20, 3))


def unpaired_rates(
    simulations: int,
    tests: Iterable[str] = TESTS,
    situations: Iterable[Situation] = OF_MEANS,
    noises: Iterable[str] = ("normal", "heavy tails", "skewed"),
    sizes: Iterable[tuple[int, int, float]] = UNPAIRED,
) -> pd.DataFrame:
    """One row per test, situation, noise and numbers of runs.

    The mean is that of the difference, in standard deviations of the second side.
    """

    def case(test: str, situation: Situation, noise: str, size: tuple[int, int, float]) -> Case:
        of, minus, wider = size

        def families(stream: np.random.Generator) -> Iterator[list[Judged]]:
            first = wider * NOISE[noise](stream, (of,)) + situation.means[0]
            second, (expectation,) = NOISE[noise](stream, (minus,)), situation.expectations(0.0)
            found = unpaired_evidence(first, second, expectation, test, SPLITS)
            yield [Judged(judge([found])[0].verdict, set(situation.right[0]))]

        columns = {"test": test, "situation": situation.name, "noise": noise}
        return {**columns, "of": of, "minus": minus, "wider": wider}, families

    cases = (case(*chosen) for chosen in product(tests, situations, noises, sizes))
    return _rates(simulations, cases, judgement.DECIDED)


def tuned_rates(
    simulations: int, tried: Iterable[tuple[int, int]] = TRIED, alike: Iterable[float] = ALIKE
) -> pd.DataFrame:
    """One row for each number of values and correlation, with normal noise.

    The seeds that decide have chosen the values of the sides. All values of both sides are equally
    good, and their runs are independent. The best of many is so by luck, too: the side that has
    more values to choose from has more luck.

    Columns: ``of`` and ``minus`` (values of each side), and ``alike``.
    """

    def case(alike: float, counts: tuple[int, int]) -> Case:
        def families(stream: np.random.Generator) -> Iterator[list[Judged]]:
            of, minus = (_best(count, alike, stream) for count in counts)
            yield [Judged(judge([evidence(of - minus, ABOVE)])[0].verdict, set())]

        return {"of": counts[0], "minus": counts[1], "alike": alike}, families

    return _rates(
        simulations,
        (case(*c) for c in product(alike, tried)),
        (judgement.HOLDS, judgement.REVERSED),
    )


def _best(count: int, alike: float, stream: np.random.Generator) -> np.ndarray:
    """The numbers, by seed, of the value with the highest mean held-out score."""
    numbers, other = stream.standard_normal((2, count, TUNED_SEEDS))
    scores = alike * numbers + np.sqrt(1 - alike**2) * other
    return numbers[scores.mean(axis=1).argmax()]


#: Numbers of universes, and of seeds in each.
SIZES = ((60, 1), (60, 3), (200, 1), (200, 3))

SETTINGS = "abcdef"

#: From the settings and a stream, the effect of each universe.
Effects = Callable[[pd.DataFrame, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Truth:
    """What is true of a multiverse."""

    name: str
    effects: Effects
    #: The settings that decide, each a letter: a rule that names another is false.
    settings: str = ""
    #: The number of claims in the family, all with this truth and the same universes.
    claims: int = 1
    noises: tuple[str, ...] = ("normal",)


def _everywhere(effect: float) -> Effects:
    return lambda s, stream: np.full(len(s), effect)


def _by_chance(share: float, yes: float, no: float) -> Effects:
    return lambda s, stream: np.where(stream.random(len(s)) < share, yes, no)


def _left_over(settings: pd.DataFrame, stream: np.random.Generator) -> np.ndarray:
    return np.where(settings["a"] <= 0.55, -8, _by_chance(5 / 9, 8, 0)(settings, stream))


def _one_setting(settings: pd.DataFrame, stream: np.random.Generator) -> np.ndarray:
    return np.where((settings["a"] > 0.5) != (settings["b"] > 0.5), 4, -4)


ALL = tuple(NOISE)
TRUTHS = (
    Truth("0 everywhere", _everywhere(0), noises=ALL),
    Truth("4 everywhere", _everywhere(4)),
    Truth("−4 everywhere", _everywhere(-4)),
    Truth("8 in 80 % of the universes, −6 in the others by chance", _by_chance(0.8, 8, -6)),
    Truth("the same of each of 6 claims", _by_chance(0.8, 8, -6), claims=6),
    Truth("8 in half of the universes, −6 in the others by chance", _by_chance(0.5, 8, -6)),
    Truth("8 in 10 % of the universes, −6 in the others by chance", _by_chance(0.1, 8, -6)),
    Truth("8 in 80 % of the universes, 1 in the others by chance", _by_chance(0.8, 8, 1)),
    Truth("4 where a ≤ 0.4, else 0", lambda s, _: np.where(s["a"] <= 0.4, 4, 0), "a", noises=ALL),
    Truth("2 where a ≤ 0.4, else 0", lambda s, _: np.where(s["a"] <= 0.4, 2, 0), "a"),
    Truth("4 where one of a and b is above 0.5, else −4", _one_setting, "ab"),
    Truth("−8 where a ≤ 0.55, else 8 or 0 by chance", _left_over, "a"),
)

#: So many universes say what the shares of all are.
MANY = 50_000


def multiverse_rates(
    simulations: int, truths: Iterable[Truth] = TRUTHS, sizes: Iterable[tuple[int, int]] = SIZES
) -> pd.DataFrame:
    """One row per truth, noise, and number of universes and seeds.

    Settings are uniform between 0 and 1. Effects are in standard deviations of the noise of one
    seed; the margin is 1. What is measured in a universe is its effect and the mean noise of its
    seeds.

    A universe is a choice of settings with its seeds. So what is true follows from the shares of
    all universes, as they are measured: robust, reversed and no effect are of 80 % or more, mostly
    of more than half, mixed of more than 10 % and less than 80 % on both sides. A rule is false if
    it names a setting that does not decide.

    ``significant`` is the share of the claims for which the test over all universes is.
    """

    def case(truth: Truth, noise: str, universes: int, seeds: int) -> Case:
        right = _right(truth, noise, seeds)

        def families(stream: np.random.Generator) -> Iterator[list[Judged]]:
            settings = _settings(universes, stream)
            effects = [_effects(truth, noise, settings, seeds, stream) for _ in range(truth.claims)]
            found = [examined(of, settings, universes, ABOVE) for of in effects]
            yield [_judged(truth, right, verdict) for verdict in judge_multiverses(found)]

        columns = {"truth": truth.name, "noise": noise, "universes": universes, "seeds": seeds}
        return columns, families

    cases = (case(t, noise, *size) for t in truths for noise in t.noises for size in sizes)
    return _rates(simulations, cases, judgement.OVER_UNIVERSES)


def _effects(
    truth: Truth, noise: str, settings: pd.DataFrame, seeds: int, stream: np.random.Generator
) -> pd.Series:
    noises = NOISE[noise](stream, (len(settings), seeds)).mean(axis=1)
    return pd.Series(truth.effects(settings, stream) + noises)


def _settings(universes: int, stream: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame(stream.random((universes, len(SETTINGS))), columns=list(SETTINGS))


def _right(truth: Truth, noise: str, seeds: int) -> set[str]:
    """The verdicts that are true of all universes, but for that of a rule."""
    stream = np.random.default_rng(0)
    side_of = sides(_effects(truth, noise, _settings(MANY, stream), seeds, stream), ABOVE)
    holds, opposite, within = (float((side_of == side).mean()) for side in (1, -1, 0))
    mixed = min(holds, opposite) > SOME and max(holds, opposite) < LEAST
    true = {
        judgement.ROBUST: holds >= LEAST,
        judgement.REVERSED: opposite >= LEAST,
        judgement.NO_EFFECT: within >= LEAST,
        judgement.MOSTLY_HOLDS: holds > 0.5,
        judgement.MOSTLY_REVERSED: opposite > 0.5,
        judgement.MIXED: mixed,
    }
    return {verdict for verdict, is_true in true.items() if is_true}


def _judged(truth: Truth, right: set[str], verdict: Verdict) -> Judged:
    """Also a rule on settings that decide is true."""
    assert verdict.multiverse is not None
    named = set(verdict.multiverse.rule_settings)
    true = right | {judgement.DEPENDS} if named and named <= set(truth.settings) else right
    return Judged(verdict.verdict, true, {"significant": verdict.p_adjusted <= ALPHA})


#: What ``verdicts rates`` simulates, by its option.
SIMULATIONS: dict[str, Callable[[int], pd.DataFrame]] = {
    "seeds": error_rates,
    "looks": partial(error_rates, situations=SEQUENTIAL, plans=[PLAN]),
    "universes": multiverse_rates,
    "tuned": tuned_rates,
    "unpaired": unpaired_rates,
}
