"""How often verdicts are false where the truth is known, by simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product

import numpy as np
import pandas as pd

from verdicts.statistics import judgement
from verdicts.statistics.estimates import ALPHA
from verdicts.statistics.evidence import Evidence, Expectation, evidence
from verdicts.statistics.judgement import (
    CONSISTENT,
    DEPENDS,
    EQUIVALENT,
    FAILS,
    HOLDS,
    NOT_MET,
    REVERSED,
    UNDECIDED,
    Verdict,
    judge,
    judge_multiverses,
)
from verdicts.statistics.multiverse import LEAST, SOME, examined, sides
from verdicts.statistics.sequential import Plan, over_looks
from verdicts.statistics.two_sample import TESTS, unpaired_evidence

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


def _single(name: str, expected: str, mean: float, *right: str, **more: float) -> Situation:
    return Situation(name, expected, (mean,), (right,), **more)


def _six(mean: float) -> Situation:
    name = f"6 claims above 0: 3 means are 0, 3 are {mean:g}"
    return Situation(name, "above", (0.0,) * 3 + (mean,) * 3, ((),) * 3 + ((HOLDS,),) * 3)


SITUATIONS = (
    _single("above 0: the mean is 0", "above", 0.0, EQUIVALENT),
    _single("above 0: the mean is 1, at the margin", "above", 1.0, HOLDS),
    _single("above 0: the mean is 2", "above", 2.0, HOLDS),
    _single("above 0: the mean is −1", "above", -1.0, REVERSED),
    _single("near 0: the mean is 0", "near", 0.0, HOLDS),
    _single("near 0: the mean is 1, at the margin", "near", 1.0),
    _single("near 0: the mean is 2", "near", 2.0, FAILS),
    _single("paper: a level of 20, as one more of our seeds", "paper", 20.0, CONSISTENT),
    _single("paper: a gap of 2, as one more of our seeds", "paper", 2.0, CONSISTENT),
    _single("paper: a level of 20, and 5 off", "paper", 20.0, NOT_MET, printed=5.0),
    Situation("6 claims above 0: all means are 0", "above", (0.0,) * 6, ((),) * 6),
    _six(2.0),
    _single("above 0: the mean is 0.5", "above", 0.5, HOLDS, EQUIVALENT),
)

#: Those of one claim about a mean.
OF_MEANS = tuple(
    situation
    for situation in SITUATIONS
    if len(situation.means) == 1 and situation.expected != "paper"
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

TUNED_SEEDS = 10
#: How many values each side of a claim has: the first is claimed to be above the second.
TRIED = ((1, 1), (4, 1), (8, 1), (12, 1), (8, 4), (48, 8), (8, 8))
#: Correlations of a run's held-out score, by which values are chosen, and its number.
ALIKE = (0.5, 1.0)


def error_rates(
    simulations: int,
    situations: Iterable[Situation] = SITUATIONS,
    noises: Iterable[str] = tuple(NOISE),
    seeds: Iterable[int] = SEEDS,
) -> pd.DataFrame:
    """One row per situation, noise and number of seeds.

    Columns: ``false_holds``, ``false_fails``, …: the shares of simulated families with this verdict
    where it is not true (at a margin's edge, neither ``holds`` nor ``fails`` is true of ``near``);
    ``false``: with any; ``power``: the share of the claims with a true verdict that get it.
    """
    records: list[dict[str, object]] = []
    for situation, noise, count in product(situations, noises, seeds):
        stream = np.random.default_rng([count, len(records)])
        records += _records(situation, noise, simulations, (count,), stream)
    return pd.DataFrame(records).drop(columns="used")


def sequential_rates(
    simulations: int,
    situations: Iterable[Situation] = SEQUENTIAL,
    noises: Iterable[str] = tuple(NOISE),
    plan: Plan = PLAN,
) -> pd.DataFrame:
    """One row per situation, noise and look: the columns of ``error_rates`` after that look.

    Seeds are added to the undecided claims of a family alone, so that its claims are at different
    looks. ``used`` is the mean number of seeds of a claim so far.
    """
    records: list[dict[str, object]] = []
    for situation, noise in product(situations, noises):
        stream = np.random.default_rng([*situation.name.encode(), *noise.encode()])
        records += _records(situation, noise, simulations, plan, stream)
    return pd.DataFrame(records)


#: What is said of a claim, and what is true of it.
Compared = tuple[set[str], set[str]]


def _records(
    situation: Situation, noise: str, simulations: int, plan: Plan, stream: np.random.Generator
) -> list[dict[str, object]]:
    """One record per look at simulated families; one number of seeds is one look."""
    drawn = NOISE[noise](stream, (simulations,))
    values = NOISE[noise](stream, (simulations, len(situation.means), plan[-1]))
    values += np.array(situation.means)[:, None]
    families: list[list[list[Compared]]] = [[] for _ in plan]
    used = np.zeros(len(plan))
    for family, paper in zip(values, drawn, strict=True):
        right = [set(verdicts) for verdicts in situation.right]
        looks = _looks(family, situation.expectations(paper), plan)
        for k, (judged, seeds) in enumerate(looks):
            said = [{verdict.verdict} for verdict in judged]
            families[k].append(list(zip(said, right, strict=True)))
            used[k] += seeds
    return [
        {
            "situation": situation.name,
            "noise": noise,
            "seeds": look,
            "used": used[k] / simulations,
            **_shares(families[k], judgement.DECIDED),
        }
        for k, look in enumerate(plan)
    ]


def _shares(families: Sequence[Sequence[Compared]], names: Sequence[str]) -> dict[str, float]:
    """How often verdicts with these ``names`` were false, and how often true ones were found."""
    said_wrongly = ({name for said, true in pairs for name in said - true} for pairs in families)
    wrong = [said & set(names) for said in said_wrongly]
    hits = [bool(said & true) for said, true in chain(*families) if true]
    rates = {f"false_{name}": share(name in said for said in wrong) for name in names}
    return {**rates, "false": share(map(bool, wrong)), "power": share(hits)}


def share(truths: Iterable[bool]) -> float:
    """The share that is true; NaN of nothing."""
    values = list(truths)
    return sum(values) / len(values) if values else float("nan")


def _looks(
    family: np.ndarray, expectations: Sequence[Expectation], plan: Plan
) -> Iterator[tuple[list[Verdict], float]]:
    """The verdicts after each look, and the mean number of seeds so far."""
    found: list[list[Evidence]] = [[] for _ in family]
    judged: list[Verdict] = []
    for look in plan:
        for k, values in enumerate(family):
            if not judged or judged[k].verdict == UNDECIDED:
                found[k].append(evidence(values[:look], expectations[k], DRAWS))
        judged = judge([over_looks(looks, plan) for looks in found])
        yield judged, float(np.mean([plan[len(looks) - 1] for looks in found]))


#: Runs of both sides that are not paired, and how much wider the first side spreads.
UNPAIRED = ((5, 5, 1), (10, 10, 1), (10, 10, 3), (5, 20, 1), (5, 20, 3))


def unpaired_rates(
    simulations: int,
    tests: Iterable[str] = TESTS,
    situations: Iterable[Situation] = OF_MEANS,
    noises: Iterable[str] = ("normal", "heavy tails", "skewed"),
    sizes: Iterable[tuple[int, int, float]] = UNPAIRED,
) -> pd.DataFrame:
    """One row per test, situation, noise and numbers of runs: the columns of ``error_rates``.

    The mean is that of the difference, in standard deviations of the second side.
    """
    records: list[dict[str, object]] = []
    for test, situation, noise, (of, minus, wider) in product(tests, situations, noises, sizes):
        stream = np.random.default_rng(list(f"{situation.name} {noise} {of} {minus}".encode()))
        first = wider * NOISE[noise](stream, (simulations, of)) + situation.means[0]
        second = NOISE[noise](stream, (simulations, minus))
        expectation = situation.expectations(0.0)[0]
        families = []
        for pair in zip(first, second, strict=True):
            found = unpaired_evidence(*pair, expectation, test, SPLITS)
            families.append([({judge([found])[0].verdict}, set(situation.right[0]))])
        rates = _shares(families, judgement.DECIDED)
        record = {"test": test, "situation": situation.name, "noise": noise}
        records.append({**record, "of": of, "minus": minus, "wider": wider, **rates})
    return pd.DataFrame(records)


def tuned_rates(
    simulations: int, tried: Iterable[tuple[int, int]] = TRIED, alike: Iterable[float] = ALIKE
) -> pd.DataFrame:
    """One row for each number of values and correlation, with normal noise.

    The seeds that decide have chosen the values of the sides. All values of both sides are equally
    good, and their runs are independent. The best of many is so by luck, too: the side that has
    more values to choose from has more luck.

    Columns: ``of`` and ``minus`` (values of each side), ``alike``, ``false_holds`` and
    ``false_reversed``: the shares of simulated claims with this verdict.
    """
    records = []
    for shared, counts in product(alike, tried):
        stream = np.random.default_rng([*counts, int(100 * shared)])
        said = []
        for _ in range(simulations):
            of, minus = (_best(count, shared, stream) for count in counts)
            said.append(judge([evidence(of - minus, ABOVE)])[0].verdict)
        rates = {f"false_{name}": said.count(name) / simulations for name in (HOLDS, REVERSED)}
        records.append({"of": counts[0], "minus": counts[1], "alike": shared, **rates})
    return pd.DataFrame(records)


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

    Columns: ``false_robust``, ``false_depends``, …: the shares of simulated families with this
    verdict where it is not true; ``false``: with any; ``power``: the share of the claims that get a
    true one; ``significant``: of those for which the test over all universes is.
    """
    records: list[dict[str, object]] = []
    for truth in truths:
        for noise, (universes, seeds) in product(truth.noises, sizes):
            name = f"{truth.name} {noise} {universes} {seeds}"
            stream = np.random.default_rng(list(name.encode()))
            families = [_family(truth, noise, universes, seeds, stream) for _ in range(simulations)]
            right = _right(truth, noise, seeds, stream)
            compared = [[_compared(truth, right, v) for v in family] for family in families]
            significant = share(verdict.p_adjusted <= ALPHA for verdict in chain(*families))
            records.append(
                {
                    "truth": truth.name,
                    "noise": noise,
                    "universes": universes,
                    "seeds": seeds,
                    **_shares(compared, judgement.OVER_UNIVERSES),
                    "significant": significant,
                }
            )
    return pd.DataFrame(records)


def _effects(
    truth: Truth, noise: str, settings: pd.DataFrame, seeds: int, stream: np.random.Generator
) -> pd.Series:
    noises = NOISE[noise](stream, (len(settings), seeds)).mean(axis=1)
    return pd.Series(truth.effects(settings, stream) + noises)


def _settings(universes: int, stream: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame(stream.random((universes, len(SETTINGS))), columns=list(SETTINGS))


def _family(
    truth: Truth, noise: str, universes: int, seeds: int, stream: np.random.Generator
) -> list[Verdict]:
    """The verdicts on the claims of a simulated family."""
    settings = _settings(universes, stream)
    effects = [_effects(truth, noise, settings, seeds, stream) for _ in range(truth.claims)]
    return judge_multiverses([examined(of, settings, universes, ABOVE) for of in effects])


def _right(truth: Truth, noise: str, seeds: int, stream: np.random.Generator) -> set[str]:
    """The verdicts that are true of all universes, but for that of a rule."""
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


def _compared(truth: Truth, right: set[str], verdict: Verdict) -> Compared:
    """What is said of a claim, and what is true of it: also a rule on settings that decide."""
    assert verdict.multiverse is not None
    named = set(verdict.multiverse.rule_settings)
    return {verdict.verdict}, right | {DEPENDS} if named and named <= set(truth.settings) else right
