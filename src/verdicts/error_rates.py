"""Simulated error rates: how often the answers of the judge, and of simpler rules, are false.

A *form* says in which shape results come: five pairs of runs, a table of twelve printed numbers.
Results are drawn with a known effect, and answered by the judge and by other rules (``others``).

Numbers are points at a level of 80. The runs of a side, or the differences of pairs, have a
standard deviation of one point, which is the margin, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from verdicts import comparison, reproduction
from verdicts.lazy import pd, special, stats
from verdicts.report import page_texts, pipe_table
from verdicts.statistics import ABSENT, ALPHA, judgement
from verdicts.statistics.evidence import Evidence, Expectation, evidence, unpaired_evidence
from verdicts.statistics.judgement import Verdict, judge, judge_every
from verdicts.statistics.multiverse import examined
from verdicts.statistics.planning import over_looks
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
OF_DIFFERENCES = {"none": (HIGHER, LOWER, RULE), "half": (LOWER, RULE)}
OF_DIFFERENCES |= dict.fromkeys(("margin", "two"), (LOWER, SAME, RULE))
#: … on a number that is claimed to be near (at the margin, it may be called higher, too), …
OF_NEAR = {"none": (HIGHER,), "half": (HIGHER,), "margin": (SAME,), "two": (SAME,)}
#: … on printed numbers, and on whether most universes are above the margin.
OF_PRINTED = {"none": (HIGHER, LOWER), "half": (), "margin": (), "two": (SAME,)}
OF_UNIVERSES = {**OF_DIFFERENCES, "half": (HIGHER, LOWER, RULE)}
OF_UNIVERSES["margin"] = (HIGHER, LOWER, SAME, RULE)
#: … and on a claim about every cell, if one has no effect.
OF_ONE_OFF = {name: (HIGHER, *false) for name, false in OF_DIFFERENCES.items()}

#: Noise of mean 0 and standard deviation 1, of a shape. Lognormal: a skewness of 1.75.
NOISES: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "normal": lambda stream, shape: stream.standard_normal(shape),
    "t3": lambda stream, shape: stream.standard_t(3, shape) / np.sqrt(3),
    "lognormal": lambda stream, shape: (
        (stream.lognormal(0, 0.5, shape) - np.exp(1 / 8)) / np.sqrt(np.exp(0.5) - np.exp(0.25))
    ),
    "steps of 0.5": lambda stream, shape: np.rint(2 * stream.standard_normal(shape)) / 2,
}

# How results are drawn: runs of both sides, [simulations, claims, runs]; −inf is a diverged run.

Sides = tuple[np.ndarray, np.ndarray]


class Truth(NamedTuple):
    """What is drawn from: a stream, noise of a shape, and effects, [simulations, claims, 1]."""

    stream: np.random.Generator
    noise: Callable[[tuple[int, ...]], np.ndarray]
    effects: np.ndarray


def paired(of: Truth, seeds: int, tasks: int = 1, cut: float = 0.0) -> Sides:
    """Pairs with a part in common; means of tasks, of which a share is cut at both ends."""
    shape = (*of.effects.shape[:2], seeds, tasks)
    second = LEVEL + of.stream.standard_normal(shape) + np.linspace(-5, 5, tasks) * (tasks > 1)
    first = second + of.effects[..., None] + of.noise(shape) * np.sqrt(tasks)
    return stats.trim_mean(first, cut, axis=-1), stats.trim_mean(second, cut, axis=-1)


def diverged(of: Truth) -> Sides:
    """Ten pairs of runs, of which every tenth run diverges."""
    sides = paired(of, seeds=10)
    first, second = (np.where(of.stream.random(s.shape) < 0.1, -np.inf, s) for s in sides)
    return first, second


def unpaired(of: Truth, runs: int, others: int, wider: float = 1.0) -> Sides:
    """So many runs of each side; the first has ``wider`` times the standard deviation."""
    simulations, claims, _ = of.effects.shape
    first = LEVEL + of.effects + wider * of.noise((simulations, claims, runs))
    return first, LEVEL + of.noise((simulations, claims, others))


def tuned(of: Truth, values: int, others: int) -> Sides:
    """Ten pairs. A side is the best of several values, all equally good, by the judged numbers."""
    k = np.arange(len(of.effects))
    sides = [LEVEL + of.noise((len(k), n, 10)) / np.sqrt(2) for n in (values, others)]
    first, second = (runs[k, runs.mean(axis=2).argmax(axis=1)][:, None] for runs in sides)
    return first + of.effects, second


def universes(of: Truth, number: int, correlation: float = 0.0) -> Sides:
    """The effects of universes; ``correlation`` is that of the sides of two of them."""
    shared, count = np.sin(np.pi / 2 * correlation), len(of.effects)
    alone = of.noise((count, 1, number)) * np.sqrt(1 - shared)
    every = of.stream.standard_normal((count, 1, 1)) * np.sqrt(shared)
    first = LEVEL + of.effects + MARGIN / 2 * (alone + every)
    return first, np.full_like(first, LEVEL)


def methods(of: Truth) -> Sides:
    """All pairs of five methods, of which the first has the effect; first those with the first."""
    count, (first, second) = len(of.effects), np.triu_indices(5, 1)
    runs = LEVEL + of.noise((count, 5, 5)) / np.sqrt(2)
    runs += of.stream.standard_normal((count, 1, 5))
    runs[:, 0] += of.effects[:, 0]
    return runs[:, first], runs[:, second]


# How the judge answers: to the claims of each simulation, [simulations, answers].

ABOVE, NEAR = Expectation("above", 0.0, MARGIN), Expectation("near", 0.0, MARGIN)

#: The number of choices of signs, and of runs, where more are drawn than listed.
DRAWS, SPLITS = 2_000, 500

#: The numbers of pairs at the interim analyses, and at the end.
LOOKS = (5, 10, 20)


def answers(verdicts: Iterable[str]) -> list[int]:
    """What they answer."""
    return [ANSWERS.get(verdict, NOTHING) for verdict in verdicts]


def pairs(of: np.ndarray, minus: np.ndarray, expected: Expectation = ABOVE) -> Evidence:
    """The evidence in pairs of runs on what is expected of the difference."""
    with np.errstate(invalid="ignore"):  # both runs diverged
        return evidence(of - minus, expected, DRAWS)


def ratio(of: np.ndarray, minus: np.ndarray) -> Evidence:
    """The evidence that the ratio of both means is above 1."""
    above = Expectation("above", 1.0, MARGIN / LEVEL)
    return evidence(np.stack([of, minus], axis=1), above, DRAWS)


def looked(of: np.ndarray, minus: np.ndarray) -> Evidence:
    """The evidence in pairs at the first of ``LOOKS`` that decides, or at the last."""
    found: list[Evidence] = []
    for look in LOOKS:
        found.append(pairs(of[:look], minus[:look]))
        seen = over_looks(found, LOOKS)
        if judge([seen])[0].verdict != judgement.UNDECIDED:
            break
    return seen


def paper(of: np.ndarray, minus: np.ndarray) -> Evidence:
    """The evidence of our runs on the mean of a paper's, printed with its standard error if it is
    of several.
    """
    count = len(minus)
    error = minus.std(ddof=1) / np.sqrt(count) if count > 1 else None
    scale = (0.0, 100.0)
    return evidence(of, Expectation("paper", minus.mean(), error=error, seeds=count, scale=scale))


def depends(cells: Sequence[Verdict]) -> Verdict:
    """The verdict on a claim whose author leaves a setting of two values open."""
    half = len(cells) // 2
    return judgement.judge_depends("setting", {"a": cells[:half], "b": cells[half:]})


#: The evidence in both sides of a claim, and the verdict on one claim by those on its cells.
Seen = Callable[[np.ndarray, np.ndarray], Evidence]
Whole = Callable[[Sequence[Verdict]], Verdict] | None


def each(of: np.ndarray, minus: np.ndarray, seen: Seen = pairs, whole: Whole = None) -> np.ndarray:
    """The verdicts on families of claims; or on one claim, ``whole``, by those on its cells."""
    found = []
    for claims in zip(of, minus, strict=True):
        family = judge([seen(*sides) for sides in zip(*claims, strict=True)])
        found.append(answers(v.verdict for v in ([whole(family)] if whole else family)))
    return np.array(found)


def near(of: np.ndarray, minus: np.ndarray) -> np.ndarray:
    """The verdicts that numbers are near: it holds if they are the same."""
    said = each(of, minus, partial(pairs, expected=NEAR))
    return np.select([said == HIGHER, said == LOWER], [SAME, HIGHER], said)


def ranks(of: np.ndarray, minus: np.ndarray) -> np.ndarray:
    """``comparison.compare``: the first method against each, and whether others differ."""
    found = []
    for first, second in zip(of, minus, strict=True):
        data = dict(zip("01234", (first[0], *second), strict=False))
        table = comparison.compare(data, best="highest").frame
        rank = table.set_index("method")["rank"].loc[[*data]].to_numpy()
        ahead = [LOWER if rank[0] > 1 else HIGHER if of > 1 else NOTHING for of in rank[1:]]
        found.append([*ahead, *6 * [HIGHER if rank.max() > 2 else NOTHING]])
    return np.array(found)


def over_universes(of: np.ndarray, minus: np.ndarray) -> np.ndarray:
    """The verdict over universes whose two settings decide nothing."""
    stream, found = np.random.default_rng(0), []
    for effects in (of - minus)[:, 0]:
        settings = pd.DataFrame(stream.random((len(effects), 2)), columns=["a", "b"])
        seen = examined(pd.Series(effects), settings, len(effects), ABOVE)
        found.append(answers(said.verdict for said in judgement.judge_multiverses([seen])))
    return np.array(found)


def reproduced(
    of: np.ndarray, minus: np.ndarray, spread: str = "", gaps: tuple[str, object] | None = None
) -> np.ndarray:
    """``reproduction.reproduce``: the answer for each table, with sd or se printed.

    A number can be told if its interval reaches at most a margin to both sides.
    """
    places = np.indices(of.shape).reshape(3, -1)
    measured = pd.DataFrame(dict(zip(("table", "cell", "seed"), places, strict=True)))
    printed = measured[measured["seed"] == 0].drop(columns="seed")
    printed["value"] = minus.mean(axis=2).ravel()
    if spread:
        error = minus.std(axis=2, ddof=1).ravel()
        printed[spread] = error / (np.sqrt(minus.shape[2]) if spread == "se" else 1.0)
        printed["seeds"] = minus.shape[2]
    found = reproduction.reproduce(
        measured.assign(value=of.ravel()), printed, by=["table"], gaps=gaps, width=2 * MARGIN
    )
    return np.array([answers([table.answer()[0]]) for _, table in found.parts()])


# The other rules.


def others(of: np.ndarray, minus: np.ndarray, paired: bool) -> dict[str, np.ndarray]:
    """The answers of the other rules, by name: the side of each gap that is above a limit.

    A gap below a limit counts as none; below that of the t test, which is without correction, the
    answer is that nothing is known.
    """
    mean = np.nanmean(minus, axis=-1)
    gap = np.nanmean(of, axis=-1) - mean
    variances, counts = _variances(of, minus)
    halves = np.sqrt(variances / counts) * special.stdtrit(counts - 1, 1 - ALPHA / 2)
    pooled, runs = _variances(of - minus) if paired else (variances, counts)
    freedom = (runs - 1).sum(axis=0)
    pooled = (pooled * (runs - 1)).sum(axis=0) / freedom
    t_test = special.stdtrit(freedom, 1 - ALPHA / 2) * np.sqrt(pooled * (1 / runs).sum(axis=0))
    limits = {
        "±1 %": (0.01 * np.abs(mean), SAME),
        "±3 %": (0.03 * np.abs(mean), SAME),
        "2σ": (2 * np.sqrt(variances.mean(axis=0)), SAME),  # of the runs of both
        "intervals": (halves.sum(axis=0), SAME),  # of 95 %, Student's; one run has none
        "means": (0.0, SAME),
        "t test": (t_test, NOTHING),
    }
    return {
        rule: np.where(np.abs(gap) > limit, np.sign(gap), inside).astype(int)
        for rule, (limit, inside) in limits.items()
    }


def _variances(*sides: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The variances and the numbers of runs of the sides that have several, [sides, …]."""
    several = [side for side in sides if side.shape[-1] > 1]
    variances = np.array([np.nanvar(side, axis=-1, ddof=1) for side in several])
    return variances, np.array([np.isfinite(side).sum(axis=-1) for side in several])


def every_cell(answers: np.ndarray) -> np.ndarray:
    """The answer of all cells; lower if one is."""
    same, lower = (answers == answers[:, :1]).all(axis=1), (answers == LOWER).any(axis=1)
    return np.select([same, lower], [answers[:, 0], LOWER], NOTHING)[:, None]


def all_same(answers: np.ndarray) -> np.ndarray:
    """Reproduced, if no number of a table differs."""
    return np.where(np.isin(answers, (SAME, NOTHING)).all(axis=1), SAME, HIGHER)[:, None]


# The forms.

Ours = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Form(NamedTuple):
    """A form in which results come."""

    name: str
    draw: Callable[[Truth], Sides]
    ours: Ours = each
    noise: str = "normal"
    paired: bool = True
    #: Which of the claims have the effect; the others have none.
    affected: tuple[bool, ...] = (True,)
    #: How the answers of the other rules to its claims are one; None: each is an answer.
    whole: Callable[[np.ndarray], np.ndarray] | None = None
    #: The false answers of ours; the other rules claim differences, or that numbers are the same.
    false: Mapping[str, Sequence[int]] = OF_DIFFERENCES
    #: Only every so many simulations are made: it takes so much longer.
    cost: int = 1

    @property
    def why(self) -> str:
        """Why more than 5 % of our answers are false; empty if they are not."""
        return str(page_texts("rates")["why"].get(f"{self.name}, {self.noise}", ""))

    def drawn(self, effect: float, simulations: int) -> Sides:
        """Both sides with this effect, always from the same stream."""
        stream = np.random.default_rng([*f"{self.name} {self.noise}".encode()])
        effects = np.tile(effect * np.array(self.affected), (simulations, 1))[..., None]
        return self.draw(Truth(stream, partial(NOISES[self.noise], stream), effects))


def of_pairs(seeds: int, more: str = "", ours: Ours = each, **options: Any) -> Form:
    """Pairs of runs."""
    return Form(f"{seeds} pairs{more}", partial(paired, seeds=seeds), ours, **options)


def of_runs(of: int, minus: int, noise: str = "normal", wider: int = 1, test: str = WELCH) -> Form:
    """Runs that are not paired."""
    more = ", 3 times the spread" * (wider > 1) + ", permuted" * (test == PERMUTATION)
    draw = partial(unpaired, runs=of, others=minus, wider=wider)
    seen = partial(unpaired_evidence, expectation=ABOVE, test=test, splits=SPLITS)
    return Form(f"{of} × {minus} runs{more}", draw, partial(each, seen=seen), noise, paired=False)


def of_printed(name: str, ours: Ours, cells: int, theirs: int, seeds: int, **more: Any) -> Form:
    """Printed numbers, each of so many runs of theirs, against our seeds."""
    known = {"affected": cells * (True,), "whole": all_same, "false": OF_PRINTED, "cost": 4}
    draw = partial(unpaired, runs=seeds, others=theirs)
    return Form(f"{name}, {seeds} seeds", draw, ours, paired=False, **{**known, **more})


def of_universes(number: int, correlation: float) -> Form:
    """A claim over so many universes."""
    name = f"{number} universes" + f", correlated by {correlation}" * (correlation > 0)
    draw = partial(universes, number=number, correlation=correlation)
    return Form(name, draw, over_universes, false=OF_UNIVERSES, cost=2)


CELLS: dict[str, Any] = {"affected": 4 * (True,), "whole": every_cell, "cost": 4}
ONE_OFF = {**CELLS, "affected": (*11 * (True,), False), "false": OF_ONE_OFF}
EVERY, DEPENDS = partial(each, whole=judge_every), partial(each, whole=depends)
PAPER = partial(each, seen=paper, whole=judge_every)
WITH_SD, WITH_SE = partial(reproduced, spread="sd"), partial(reproduced, spread="se")
GAPS = partial(WITH_SD, gaps=("cell", 0))
OF_TASKS = partial(paired, seeds=5, tasks=8)
SHAPES = ("normal", "lognormal", "steps of 0.5")

FORMS = (
    *(of_pairs(n) for n in (3, 5, 10, 20)),
    *(of_pairs(n, noise=of) for of in ("t3", "lognormal", "steps of 0.5") for n in (5, 10)),
    *(of_pairs(10, ", near", near, noise=of, false=OF_NEAR) for of in ("normal", "lognormal")),
    of_pairs(10, ", a ratio of means", partial(each, seen=ratio), cost=2),
    Form("10 pairs, every tenth run diverged", diverged, cost=2),
    Form("looks at 5, 10, 20 pairs", partial(paired, seeds=20), partial(each, seen=looked), cost=2),
    Form("10 pairs, best of 8 values against best of 8", partial(tuned, values=8, others=8)),
    Form("10 pairs, best of 8 values against 1", partial(tuned, values=8, others=1)),
    Form("5 pairs, mean of 8 tasks", OF_TASKS, noise="t3"),
    Form("5 pairs, middle half of 8 tasks", partial(OF_TASKS, cut=0.25), noise="t3"),
    of_pairs(5, ", 6 claims of which 3 are true", affected=3 * (True,) + 3 * (False,), cost=4),
    of_pairs(5, " in every one of 4 cells", EVERY, **CELLS),
    of_pairs(5, " in every one of 12 cells, one without effect", EVERY, **ONE_OFF),
    of_pairs(5, " in 2 cells of each of 2 values left open", DEPENDS, **CELLS),
    Form(
        "ranks of 5 methods, 5 seeds", methods, ranks, affected=4 * (True,) + 6 * (False,), cost=10
    ),
    *(of_runs(5, 5, noise) for noise in ("normal", "t3")),
    of_runs(5, 5, test=PERMUTATION),
    *(of_runs(n, m, of) for n, m in ((10, 10), (5, 20)) for of in ("normal", "lognormal")),
    *(of_runs(3, 10, wider=3, test=test) for test in (WELCH, PERMUTATION)),
    of_printed("claim: a printed run", PAPER, 1, 1, 5, cost=1),
    *(of_printed(f"claim: mean of {n} ± se", PAPER, 1, n, 5, cost=1) for n in (3, 10)),
    *(of_printed(f"claim: {k} printed runs", PAPER, k, 1, 5, cost=1 + k // 6) for k in (4, 12, 60)),
    of_printed("reproduce a printed run", reproduced, 1, 1, 5),
    of_printed("reproduce 12 printed runs", reproduced, 12, 1, 5),
    *(of_printed(f"reproduce {k} × mean of 3 ± sd", WITH_SD, k, 3, 3) for k in (1, 4, 12, 60)),
    of_printed("reproduce 12 × mean of 3 ± sd", WITH_SD, 12, 3, 3, noise="t3"),
    *(of_printed("reproduce 12 × mean of 5 ± sd", WITH_SD, 12, 5, 5, noise=of) for of in SHAPES),
    of_printed("reproduce 12 × mean of 10 ± sd", WITH_SD, 12, 10, 10),
    of_printed("reproduce 12 × mean of 10 ± se", WITH_SE, 12, 10, 5),
    of_printed(
        "reproduce 4 gaps of means of 5 ± sd", GAPS, 5, 5, 5, affected=(False, *4 * (True,))
    ),
    *(of_universes(k, correlation) for correlation in (0.0, 0.1) for k in (25, 45, 134)),
)


# The table.


def shares(form: Form, simulations: int) -> list[dict[str, Any]]:
    """A record for each rule: the shares of false answers at each effect (NaN where none can be),
    ``power`` and ``same`` (shares of right answers at two margins, and at none).
    """
    count, affected = max(1, simulations // form.cost), np.array(form.affected)
    records: dict[str, dict[str, Any]] = {}
    for name, effect in EFFECTS.items():
        of, minus = form.drawn(effect, count)
        said = {"ours": form.ours(of, minus)}
        of, minus = (np.where(np.isfinite(side), side, np.nan) for side in (of, minus))
        for rule, answers in others(of, minus, form.paired).items():
            said[rule] = (form.whole or np.asarray)(answers)
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


def rates(simulations: int) -> pd.DataFrame:
    """The table: a row for each form and rule, the same whatever the number of processes."""
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(partial(shares, simulations=simulations), FORMS))
    columns = ["form", "noise", "rule", *EFFECTS, "power", "same", "simulations", "why"]
    return pd.DataFrame([row for rows in found for row in rows])[columns]


def as_markdown(table: pd.DataFrame) -> str:
    """A row for each form: false answers in percent at the four effects, and power, by rule."""
    numbers = 100 * table[[*EFFECTS, "power", "same"]]
    told = numbers.map(lambda share: ABSENT if np.isnan(share) else f"{share:.0f}")
    cells = told[[*EFFECTS]].agg(" ".join, axis=1) + " · " + told["power"]
    cells += (" · " + told["same"]).where(table["rule"] == "ours", "")
    first, last = ["form", "noise"], ["simulations", "why"]
    index = pd.MultiIndex.from_frame(table[[*first, *last, "rule"]])
    wide = cells.set_axis(index).unstack("rule", sort=False)
    return pipe_table(wide.reset_index()[[*first, *wide, *last]].astype(str))
