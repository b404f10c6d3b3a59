"""How often answers are false where the truth is known, by simulation: the judge's, and others'.

A *form* is one in which results come: five pairs of runs, a table of twelve printed numbers. Its
rows are drawn with a known effect, and answered by the judge and by simpler rules (``RULES``).

Numbers are points of a level of 80. The runs of a side, or the differences of pairs, have a
standard deviation of one point, which is the margin, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from verdicts import comparison, reproduction
from verdicts.lazy import pd, special, stats
from verdicts.report import pipe_table
from verdicts.statistics import judgement
from verdicts.statistics.estimates import ALPHA
from verdicts.statistics.evidence import Evidence, Expectation, evidence, unpaired_evidence
from verdicts.statistics.judgement import Verdict, judge, judge_every
from verdicts.statistics.multiverse import examined
from verdicts.statistics.planning import Plan, over_looks
from verdicts.statistics.samples import PERMUTATION, WELCH

LEVEL, MARGIN = 80.0, 1.0

#: True effects: how much the first side is above the second, or ours above the printed number.
EFFECTS = {"none": 0.0, "half": 0.5 * MARGIN, "margin": MARGIN, "two": 2 * MARGIN}

#: Answers: the first is higher (of a printed number: another), lower, no difference (the same),
#: a rule on settings, or that nothing is known.
HIGHER, LOWER, SAME, RULE, NOTHING = 1, -1, 0, 2, 3

#: What the verdicts answer.
ANSWERS = {
    **dict.fromkeys((judgement.HOLDS, judgement.ROBUST, judgement.MOSTLY_HOLDS), HIGHER),
    **dict.fromkeys((judgement.REVERSED, judgement.MOSTLY_REVERSED, judgement.FAILS), LOWER),
    **dict.fromkeys((judgement.EQUIVALENT, judgement.NO_EFFECT, judgement.CONSISTENT), SAME),
    **{judgement.NOT_MET: HIGHER, judgement.DEPENDS: RULE, judgement.MIXED: RULE},
    **dict.fromkeys((reproduction.REPRODUCED, reproduction.IN_PART, reproduction.IN_GAPS), SAME),
    reproduction.NOT_REPRODUCED: HIGHER,
}

#: False answers at each effect: on a difference, …
OF_DIFFERENCES = {
    "none": (HIGHER, LOWER, RULE),
    "half": (LOWER, RULE),
    "margin": (LOWER, SAME, RULE),
    "two": (LOWER, SAME, RULE),
}
#: … on a number that is claimed to be near (at the margin, it may be called higher, too), …
OF_NEAR = {"none": (HIGHER,), "half": (HIGHER,), "margin": (SAME,), "two": (SAME,)}
#: … on printed numbers, and on whether most universes are above the margin.
OF_PRINTED = {"none": (HIGHER, LOWER), "half": (), "margin": (), "two": (SAME,)}
OF_UNIVERSES = {**OF_DIFFERENCES, "half": (HIGHER, LOWER, RULE)}
OF_UNIVERSES["margin"] = (HIGHER, LOWER, SAME, RULE)
#: … and on a claim about every cell, if one has no effect.
OF_ONE_OFF = {name: (HIGHER, *false) for name, false in OF_DIFFERENCES.items()}

#: Noise of mean 0 and standard deviation 1, of a shape. Lognormal: a skewness of 1.75.
Noise = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]

NOISES: dict[str, Noise] = {
    "normal": lambda stream, shape: stream.standard_normal(shape),
    "t3": lambda stream, shape: stream.standard_t(3, shape) / np.sqrt(3),
    "lognormal": lambda stream, shape: (
        (stream.lognormal(0, 0.5, shape) - np.exp(1 / 8)) / np.sqrt(np.exp(0.5) - np.exp(0.25))
    ),
    "steps of 0.5": lambda stream, shape: np.rint(2 * stream.standard_normal(shape)) / 2,
}

#: Runs of both sides: [simulations, claims, seeds]; −inf is a diverged run.
Sides = tuple[np.ndarray, np.ndarray]

#: From a stream, the noise, the effect of each claim and a number of simulations.
Draw = Callable[[np.random.Generator, Noise, np.ndarray, int], Sides]

#: Our answers to the claims of each simulation, [simulations, answers].
Ours = Callable[[np.ndarray, np.ndarray], np.ndarray]


#: Why more than 5 % of our answers are false, and what is better, by how forms start and by noise.
SKEWED = "skewed noise, at the margin; of the other rules, only the t test finds nothing equivalent"
FAR = "an interval this wide holds other numbers, too; better: reproduce with a width, or ±1 %"
RELATED = "universes that are correlated are fewer than they seem; no other rule here tells shares"
WHY = {
    ("5 pairs, 6 claims", "normal"): "equivalence speaks against a claim, and is not adjusted",
    ("3 × 10 runs", "normal"): "three runs hardly tell a spread; no other rule here is better",
    **{(name, "lognormal"): SKEWED for name in ("5 pairs", "10 pairs", "5 × 20 runs")},
    **{(f"claim: {name}", "normal"): FAR for name in ("a", "mean", "4", "12")},
    **{(f"{k} universes, correlated", "normal"): RELATED for k in (25, 45, 134)},
}


@dataclass(frozen=True)
class Form:
    """A form in which results come."""

    name: str
    draw: Draw
    ours: Ours
    noise: str = "normal"
    paired: bool = True
    #: Which of the claims have the effect; the others have none.
    affected: tuple[bool, ...] = (True,)
    #: How the answers of the other rules to its claims are one; None: each is an answer.
    whole: Callable[[np.ndarray], np.ndarray] | None = None
    #: The false answers of ours; the other rules claim differences, or that numbers are the same.
    false: Mapping[str, Sequence[int]] = field(default_factory=lambda: OF_DIFFERENCES)
    #: Only every so many simulations are made: it takes so much longer.
    cost: int = 1

    @property
    def why(self) -> str:
        """Why more than 5 % of our answers are false; empty if they are not."""
        starts = (key for key in WHY if self.noise == key[1] and self.name.startswith(key[0]))
        return WHY.get(next(starts, ("", "")), "")


# How results are drawn.


def paired(seeds: int, tasks: int = 0, middle: bool = False) -> Draw:
    """Pairs with a part in common. Of ``tasks``, the mean, or that of the ``middle`` half."""

    def draw(stream: np.random.Generator, noise: Noise, effects: np.ndarray, count: int) -> Sides:
        shape = (count, len(effects), seeds, tasks or 1)
        minus = LEVEL + stream.standard_normal(shape) + np.linspace(-5, 5, tasks or 1) * (tasks > 0)
        of = minus + effects[:, None, None] + noise(stream, shape) * np.sqrt(tasks or 1)
        cut = 0.25 if middle else 0.0
        return stats.trim_mean(of, cut, axis=-1), stats.trim_mean(minus, cut, axis=-1)

    return draw


def unpaired(of: int, minus: int, wider: float = 1.0) -> Draw:
    """So many runs of each side; the first spreads so many times as much."""

    def draw(stream: np.random.Generator, noise: Noise, effects: np.ndarray, count: int) -> Sides:
        first = LEVEL + effects[:, None] + wider * noise(stream, (count, len(effects), of))
        return first, LEVEL + noise(stream, (count, len(effects), minus))

    return draw


def diverged(seeds: int) -> Draw:
    """Pairs of runs, of which every tenth run diverges."""

    def draw(stream: np.random.Generator, noise: Noise, effects: np.ndarray, count: int) -> Sides:
        sides = paired(seeds)(stream, noise, effects, count)
        of, minus = (np.where(stream.random(side.shape) < 0.1, -np.inf, side) for side in sides)
        return of, minus

    return draw


def tuned(of: int, minus: int, seeds: int = 10) -> Draw:
    """Each side is the best of so many values, all equally good, by the numbers that are judged."""

    def draw(stream: np.random.Generator, noise: Noise, effects: np.ndarray, count: int) -> Sides:
        sides = []
        for values in (of, minus):
            every = LEVEL + noise(stream, (count, values, seeds)) / np.sqrt(2)
            best = every.mean(axis=2).argmax(axis=1)[:, None, None]
            sides.append(np.take_along_axis(every, best, axis=1))
        return sides[0] + effects[:, None], sides[1]

    return draw


def universes(number: int, correlation: float = 0.0) -> Draw:
    """The effects of universes; ``correlation`` is that of the sides of two of them."""
    shared = np.sin(np.pi / 2 * correlation)

    def draw(stream: np.random.Generator, noise: Noise, effects: np.ndarray, count: int) -> Sides:
        own = noise(stream, (count, 1, number)) * np.sqrt(1 - shared)
        every = stream.standard_normal((count, 1, 1)) * np.sqrt(shared)
        of = LEVEL + effects[:, None] + MARGIN / 2 * (own + every)
        return of, np.full_like(of, LEVEL)

    return draw


def methods(seeds: int, number: int = 5) -> Draw:
    """All pairs of methods of which the first has the effect; first those with the first."""
    first, second = np.triu_indices(number, 1)

    def draw(stream: np.random.Generator, noise: Noise, effects: np.ndarray, count: int) -> Sides:
        runs = LEVEL + noise(stream, (count, number, seeds)) / np.sqrt(2)
        runs += stream.standard_normal((count, 1, seeds))
        runs[:, 0] += effects[0]
        return runs[:, first], runs[:, second]

    return draw


# How the judge answers.

ABOVE = Expectation("above", 0.0, MARGIN)

#: The number of choices of signs, and of runs, where more are drawn than listed.
DRAWS, SPLITS = 2_000, 500

Seen = Callable[[np.ndarray, np.ndarray], Evidence]


def answers(verdicts: Iterable[Verdict]) -> list[int]:
    """What they answer."""
    return [ANSWERS.get(verdict.verdict, NOTHING) for verdict in verdicts]


def each(seen: Seen, said: Callable[[list[Verdict]], list[Verdict]] = list) -> Ours:
    """The verdicts on families of claims, or what is ``said`` by those on their cells."""

    def ours(of: np.ndarray, minus: np.ndarray) -> np.ndarray:
        families = (
            [seen(*sides) for sides in zip(*two, strict=True)]
            for two in zip(of, minus, strict=True)
        )
        return np.array([answers(said(judge(family))) for family in families])

    return ours


def every(cells: list[Verdict]) -> list[Verdict]:
    """The verdict on a claim about every cell."""
    return [judge_every(cells)]


def depends(cells: list[Verdict]) -> list[Verdict]:
    """The verdict on a claim whose author leaves a setting of two values open."""
    half = len(cells) // 2
    return [judgement.judge_depends("setting", {"a": cells[:half], "b": cells[half:]})]


def pairs(of: np.ndarray, minus: np.ndarray) -> Evidence:
    """The evidence in pairs of runs that a claim has the first side above the second."""
    with np.errstate(invalid="ignore"):  # both runs diverged
        return evidence(of - minus, ABOVE, DRAWS)


def near(of: np.ndarray, minus: np.ndarray) -> Evidence:
    """The same that both are near each other."""
    return evidence(of - minus, Expectation("near", 0.0, MARGIN), DRAWS)


def ratio(of: np.ndarray, minus: np.ndarray) -> Evidence:
    """The same by the ratio of both means."""
    above = Expectation("above", 1.0, MARGIN / LEVEL)
    return evidence(np.stack([of, minus], axis=1), above, DRAWS)


def runs(of: np.ndarray, minus: np.ndarray, test: str = WELCH) -> Evidence:
    """The same of runs that are not paired."""
    return unpaired_evidence(of, minus, ABOVE, test, SPLITS)


def paper(of: np.ndarray, minus: np.ndarray) -> Evidence:
    """The evidence of our runs on the mean of a paper's, printed with its standard error if it is
    of several.
    """
    count = len(minus)
    error = minus.std(ddof=1) / np.sqrt(count) if count > 1 else None
    scale = (0.0, 100.0)
    return evidence(of, Expectation("paper", minus.mean(), error=error, seeds=count, scale=scale))


def looked(plan: Plan) -> Ours:
    """The verdict at the first look that decides."""

    def verdict(values: np.ndarray) -> Verdict:
        found: list[Evidence] = []
        for look in plan:
            found.append(evidence(values[:look], ABOVE, DRAWS))
            (said,) = judge([over_looks(found, plan)])
            if said.verdict != judgement.UNDECIDED:
                break
        return said

    return lambda of, minus: np.array([answers([verdict(v)]) for v in (of - minus)[:, 0]])


def near_means(of: np.ndarray, minus: np.ndarray) -> np.ndarray:
    """The verdicts that numbers are near: it holds if they are the same."""
    said = each(near)(of, minus)
    return np.select([said == HIGHER, said == LOWER], [SAME, HIGHER], said)


def ranked(of: np.ndarray, minus: np.ndarray) -> np.ndarray:
    """``comparison.compare``: the first method against each, and whether others differ."""
    others = int(np.sqrt(2 * of.shape[1]))  # 4 of 10 pairs
    found = []
    for first, second in zip(of, minus, strict=True):
        data = {"0": first[0], **{str(k + 1): second[k] for k in range(others)}}
        table = comparison.compare(data, best="highest").frame
        rank = table.set_index("method")["rank"].loc[list(data)].to_numpy()
        ahead = [LOWER if rank[0] > 1 else HIGHER if of > 1 else NOTHING for of in rank[1:]]
        found.append([*ahead, *[HIGHER if rank.max() > 2 else NOTHING] * (len(first) - others)])
    return np.array(found)


def over_universes(of: np.ndarray, minus: np.ndarray) -> np.ndarray:
    """The verdict over universes whose two settings decide nothing."""
    stream, found = np.random.default_rng(0), []
    for effects in (of - minus)[:, 0]:
        settings = pd.DataFrame(stream.random((len(effects), 2)), columns=["a", "b"])
        seen = examined(pd.Series(effects), settings, len(effects), ABOVE)
        found.append(answers(judgement.judge_multiverses([seen])))
    return np.array(found)


def reproduced(
    of: np.ndarray, minus: np.ndarray, spread: str = "", gaps: bool = False
) -> np.ndarray:
    """``reproduction.reproduce``: the answer for each table, with sd or se printed.

    A number can be told if its interval reaches at most a margin to both sides.
    """
    count, cells, seeds = of.shape
    table, cell = (part.ravel().astype(str) for part in np.indices((count, cells)))
    printed = pd.DataFrame({"table": table, "cell": cell, "value": minus.mean(axis=2).ravel()})
    if spread:
        error = minus.std(axis=2, ddof=1).ravel()
        printed[spread] = error / (np.sqrt(minus.shape[2]) if spread == "se" else 1.0)
        printed["seeds"] = minus.shape[2]
    measured = pd.DataFrame({
        "table": np.repeat(table, seeds), "cell": np.repeat(cell, seeds),
        "seed": np.tile(np.arange(seeds), count * cells), "value": of.ravel(),
    })  # fmt: skip
    from_first = ("cell", "0") if gaps else None
    found = reproduction.reproduce(
        measured, printed, by=["table"], gaps=from_first, width=2 * MARGIN
    )
    said = {part["table"]: of.answer()[0] for part, of in found.parts()}
    return np.array([[ANSWERS.get(said[str(k)], NOTHING)] for k in range(count)])


# The other rules: from both sides, and whether they are paired, an answer to each claim.


def _gap(of: np.ndarray, minus: np.ndarray) -> np.ndarray:
    return np.nanmean(of, axis=-1) - np.nanmean(minus, axis=-1)


def _errors(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The squared standard error of each mean, and the degrees of freedom; 0 of a single run."""
    count = np.count_nonzero(~np.isnan(values), axis=-1)
    if values.shape[-1] == 1:
        return np.zeros(count.shape), np.zeros(count.shape)
    return np.nanvar(values, axis=-1, ddof=1) / count, count - 1


def _beyond(of: np.ndarray, minus: np.ndarray, limit: np.ndarray | float) -> np.ndarray:
    gap = _gap(of, minus)
    return np.where(np.abs(gap) <= limit, SAME, np.sign(gap)).astype(int)


def percent(share: float, of: np.ndarray, minus: np.ndarray, paired: bool) -> np.ndarray:
    """The same if the means differ by at most this share."""
    return _beyond(of, minus, share * np.abs(np.nanmean(minus, axis=-1)))


def two_sigma(of: np.ndarray, minus: np.ndarray, paired: bool) -> np.ndarray:
    """The same if the means differ by at most two standard deviations of the runs of both."""
    spreads = [np.nanvar(side, axis=-1, ddof=1) for side in (of, minus) if side.shape[-1] > 1]
    return _beyond(of, minus, 2 * np.sqrt(np.mean(spreads, axis=0)))


def overlap(of: np.ndarray, minus: np.ndarray, paired: bool) -> np.ndarray:
    """The same if Student's intervals of 95 % overlap; a single run is in one, or is not."""
    each = [(error, np.maximum(freedom, 1)) for error, freedom in map(_errors, (of, minus))]
    half = [np.sqrt(error) * special.stdtrit(free, 1 - ALPHA / 2) for error, free in each]
    return _beyond(of, minus, half[0] + half[1])


def mean_alone(of: np.ndarray, minus: np.ndarray, paired: bool) -> np.ndarray:
    """The higher mean is higher."""
    return _beyond(of, minus, 0.0)


def t_test(of: np.ndarray, minus: np.ndarray, paired: bool) -> np.ndarray:
    """Student's t test, without correction; nothing is known if it is not significant."""
    if paired:
        error, freedom = _errors(of - minus)
    else:
        (first, n), (second, m) = _errors(of), _errors(minus)
        freedom = n + m
        pooled = (first * (n + 1) * n + second * (m + 1) * m) / freedom
        error = pooled * (1 / (n + 1) + (minus.shape[-1] > 1) / (m + 1))
    with np.errstate(divide="ignore", invalid="ignore"):  # numbers without a spread
        p = 2 * special.stdtr(freedom, -np.abs(_gap(of, minus)) / np.sqrt(error))
    return np.where(p <= ALPHA, np.sign(_gap(of, minus)), NOTHING).astype(int)


#: The other rules.
RULES: dict[str, Callable[[np.ndarray, np.ndarray, bool], np.ndarray]] = {
    "±1 %": partial(percent, 0.01),
    "±3 %": partial(percent, 0.03),
    "2σ": two_sigma,
    "intervals": overlap,
    "means": mean_alone,
    "t test": t_test,
}


def every_cell(answers: np.ndarray) -> np.ndarray:
    """The answer of all cells; lower if one is."""
    same = (answers == answers[:, :1]).all(axis=1)
    lower = (answers == LOWER).any(axis=1)
    return np.where(same, answers[:, 0], np.where(lower, LOWER, NOTHING))[:, None]


def all_same(answers: np.ndarray) -> np.ndarray:
    """Reproduced, if no number of a table differs."""
    return np.where(np.isin(answers, (SAME, NOTHING)).all(axis=1), SAME, HIGHER)[:, None]


def _of_pairs() -> list[Form]:
    """Pairs of runs, by ``evidence``; claims on cells, and ranks."""
    cells: dict[str, Any] = {"whole": every_cell}
    forms = [Form(f"{n} pairs", paired(n), each(pairs)) for n in (3, 5, 10, 20)]
    for noise in ("t3", "lognormal", "steps of 0.5"):
        forms += [Form(f"{n} pairs", paired(n), each(pairs), noise) for n in (5, 10)]
    for noise in ("normal", "lognormal"):
        forms += [Form("10 pairs, near", paired(10), near_means, noise, false=OF_NEAR)]
    for name, draw, ours, cost in (
        ("10 pairs, a ratio of means", paired(10), each(ratio), 2),
        ("10 pairs, every tenth run diverged", diverged(10), each(pairs), 2),
        ("looks at 5, 10, 20 pairs", paired(20), looked((5, 10, 20)), 2),
        ("10 pairs, best of 8 values against best of 8", tuned(8, 8), each(pairs), 1),
        ("10 pairs, best of 8 values against 1", tuned(8, 1), each(pairs), 1),
    ):
        forms.append(Form(name, draw, ours, cost=cost))
    for name, middle in (("mean", False), ("middle half", True)):
        draw = paired(5, 8, middle=middle)
        forms.append(Form(f"5 pairs, {name} of 8 tasks", draw, each(pairs), "t3"))
    for name, draw, ours, affected, more in (
        ("5 pairs, 6 claims of which 3 are true", paired(5), each(pairs), (3, 3), {}),
        ("5 pairs in every one of 4 cells", paired(5), each(pairs, every), (4, 0), cells),
        ("5 pairs in every one of 12 cells, one without effect", paired(5), each(pairs, every),
         (11, 1), {**cells, "false": OF_ONE_OFF}),
        ("5 pairs in 2 cells of each of 2 values left open", paired(5), each(pairs, depends),
         (4, 0), cells),
        ("ranks of 5 methods, 5 seeds", methods(5), ranked, (4, 6), {"cost": 10}),
    ):  # fmt: skip
        which = (True,) * affected[0] + (False,) * affected[1]
        forms.append(Form(name, draw, ours, affected=which, **{"cost": 4, **more}))
    return forms


def _of_runs() -> list[Form]:
    """Runs that are not paired, by ``unpaired_evidence``."""
    forms, permuted = [], partial(runs, test=PERMUTATION)
    for of, minus, wider, noise, seen in (
        (5, 5, 1, "normal", runs),
        (5, 5, 1, "t3", runs),
        (5, 5, 1, "normal", permuted),
        (10, 10, 1, "normal", runs),
        (10, 10, 1, "lognormal", runs),
        (5, 20, 1, "normal", runs),
        (5, 20, 1, "lognormal", runs),
        (3, 10, 3, "normal", runs),
        (3, 10, 3, "normal", permuted),
    ):
        more = ", 3 times the spread" * (wider > 1) + ", permuted" * (seen is permuted)
        name, draw = f"{of} × {minus} runs{more}", unpaired(of, minus, wider)
        forms.append(Form(name, draw, each(seen), noise, paired=False))
    return forms


def _of_printed() -> list[Form]:
    """Printed numbers against our seeds: by claims on them, and by ``reproduce``."""
    with_sd, with_se = (partial(reproduced, spread=spread) for spread in ("sd", "se"))
    gaps = partial(reproduced, spread="sd", gaps=True)
    numbers: list[tuple[str, int, int, int, Ours, str, int]] = [
        ("claim: a printed run, 5 seeds", 1, 5, 1, each(paper), "normal", 1),
        ("claim: mean of 3 ± se, 5 seeds", 1, 5, 3, each(paper), "normal", 1),
        ("claim: mean of 10 ± se, 5 seeds", 1, 5, 10, each(paper), "normal", 1),
        *(
            (f"claim: {k} printed runs, 5 seeds", k, 5, 1, each(paper, every), "normal", 1 + k // 6)
            for k in (4, 12, 60)
        ),
        ("reproduce a printed run, 5 seeds", 1, 5, 1, reproduced, "normal", 4),
        ("reproduce 12 printed runs, 5 seeds", 12, 5, 1, reproduced, "normal", 4),
        *(
            (f"reproduce {k} × mean of 3 ± sd, 3 seeds", k, 3, 3, with_sd, "normal", 4)
            for k in (1, 4, 12, 60)
        ),
        ("reproduce 12 × mean of 3 ± sd, 3 seeds", 12, 3, 3, with_sd, "t3", 4),
        *(
            ("reproduce 12 × mean of 5 ± sd, 5 seeds", 12, 5, 5, with_sd, noise, 4)
            for noise in ("normal", "lognormal", "steps of 0.5")
        ),
        ("reproduce 12 × mean of 10 ± sd, 10 seeds", 12, 10, 10, with_sd, "normal", 4),
        ("reproduce 12 × mean of 10 ± se, 5 seeds", 12, 5, 10, with_se, "normal", 4),
        ("reproduce 4 gaps of means of 5 ± sd, 5 seeds", 5, 5, 5, gaps, "normal", 4),
    ]
    return [
        Form(name, unpaired(seeds, theirs), ours, noise, paired=False, cost=cost,
             affected=(ours is not gaps, *(True,) * (cells - 1)), whole=all_same, false=OF_PRINTED)
        for name, cells, seeds, theirs, ours, noise, cost in numbers
    ]  # fmt: skip


def _of_universes() -> list[Form]:
    """Claims over universes, by ``judge_multiverses``."""
    names = {f"{k} universes": universes(k) for k in (25, 45, 134)}
    names |= {f"{k} universes, correlated by 0.1": universes(k, 0.1) for k in (25, 45, 134)}
    of = partial(Form, ours=over_universes, false=OF_UNIVERSES, cost=2)
    return [of(name, draw) for name, draw in names.items()]


FORMS = (*_of_pairs(), *_of_runs(), *_of_printed(), *_of_universes())


# The table.


def shares(form: Form, simulations: int) -> list[dict[str, Any]]:
    """A record for each rule: the shares of false answers at each effect (NaN where none can be),
    ``power`` and ``same`` (shares of right answers at two margins, and at none).
    """
    count = max(1, simulations // form.cost)
    records: dict[str, dict[str, Any]] = {}
    for name, effect in EFFECTS.items():
        stream = np.random.default_rng([*f"{form.name} {form.noise}".encode()])
        affected = np.array(form.affected)
        of, minus = form.draw(stream, NOISES[form.noise], effect * affected, count)
        said = {"ours": form.ours(of, minus)}
        of, minus = (np.where(np.isfinite(side), side, np.nan) for side in (of, minus))
        for rule, answer in RULES.items():
            each = answer(of, minus, form.paired)
            said[rule] = form.whole(each) if form.whole else each
        for rule, answers in said.items():
            false = form.false if rule == "ours" or form.whole else OF_DIFFERENCES
            true = affected if answers.shape[1] == len(affected) else np.ones(1, bool)
            wrong = np.where(true, np.isin(answers, false[name]), np.isin(answers, false["none"]))
            known = records.setdefault(rule, {"form": form.name, "noise": form.noise, "rule": rule})
            known[name] = wrong.any(axis=1).mean() if false[name] else np.nan
            if name == "none":
                known["same"] = (answers == SAME)[:, true].mean()
            if name == "two" and HIGHER not in false[name]:
                known["power"] = (answers == HIGHER)[:, true].mean()
    return [{**known, "simulations": count, "why": form.why} for known in records.values()]


#: The number of simulations of a quick table.
QUICK = 100


def rates(simulations: int) -> pd.DataFrame:
    """The table: a row for each form and rule, the same whatever the number of processes."""
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(_shares, range(len(FORMS)), [simulations] * len(FORMS)))
    columns = ["form", "noise", "rule", *EFFECTS, "power", "same", "simulations", "why"]
    return pd.DataFrame([row for rows in found for row in rows])[columns]


def _shares(place: int, simulations: int) -> list[dict[str, Any]]:
    return shares(FORMS[place], simulations)


def as_markdown(table: pd.DataFrame) -> str:
    """A row for each form: false answers in percent at the four effects, and power, by rule."""
    records = []
    for (form, noise), rows in table.groupby(["form", "noise"], sort=False):
        numbers = 100 * rows.set_index("rule")[[*EFFECTS, "power", "same"]]
        told = numbers.map(lambda share: "–" if np.isnan(share) else f"{share:.0f}")
        cells = told[[*EFFECTS]].agg(" ".join, axis=1) + " · " + told["power"]
        cells["ours"] += " · " + str(told.loc["ours", "same"])
        more = {name: str(rows[name].iloc[0]) for name in ("simulations", "why")}
        records.append({"form": form, "noise": noise, **cells, **more})
    return pipe_table(pd.DataFrame(records))
