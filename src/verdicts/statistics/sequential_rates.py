"""How often verdicts with a plan of looks are false where the truth is known, by simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

import numpy as np
import pandas as pd

from verdicts.statistics.error_rates import NOISE, SITUATIONS, Situation, Tally, simulated
from verdicts.statistics.evidence import Evidence, evidence
from verdicts.statistics.expectation import Expectation
from verdicts.statistics.judgement import HOLDS, UNDECIDED, Verdict, judge
from verdicts.statistics.sequential import Plan, sequential
from verdicts.statistics.sign_flip import upper_tail

PLAN = (10, 20, 40, 80)

SEQUENTIAL = (
    *(each for each in SITUATIONS if each.means in ((0.0,), (0.5,), (1.0,)) and each.printed != 5),
    *(each for each in SITUATIONS if each.means == (0.0,) * 6),
    *(
        Situation(
            f"6 claims above 0: 3 means are 0, 3 are {mean:g}",
            "above",
            (0.0,) * 3 + (mean,) * 3,
            ((),) * 3 + ((HOLDS,),) * 3,
        )
        for mean in (0.5, 1.0)
    ),
)
"""What is simulated."""

EXACT = 20
"""The most seeds for which the sign-flip test is exact here."""

DRAWS = 10_000
"""The number of random choices of signs beyond that."""


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
    for situation in situations:
        for noise in noises:
            stream = np.random.default_rng([*situation.name.encode(), *noise.encode()])
            tallies = [Tally(situation) for _ in plan]
            used = np.zeros(len(plan))
            for family, expectations, paper in simulated(
                situation, noise, plan[-1], simulations, stream
            ):
                for k, (judged, seeds) in enumerate(_looks(family, expectations, plan)):
                    tallies[k].add(judged, paper)
                    used[k] += seeds
            records += [
                {"situation": situation.name, "noise": noise, "seeds": look, "used": mean}
                | tally.shares
                for look, mean, tally in zip(plan, used / simulations, tallies, strict=True)
            ]
    return pd.DataFrame(records)


def _looks(
    family: np.ndarray, expectations: Sequence[Expectation], plan: Plan
) -> Iterable[tuple[list[Verdict], float]]:
    """The verdicts after each look, and the mean number of seeds so far."""
    looks = [_remembering() for _ in expectations]
    seeds = [plan[0]] * len(expectations)
    judged: list[Verdict] = []
    for look in plan:
        undecided = [each.verdict == UNDECIDED for each in judged] or [True] * len(seeds)
        if any(undecided):
            seeds = [look if more else k for k, more in zip(seeds, undecided, strict=True)]
            judged = judge(
                [
                    sequential(values[:k], expectation, plan, at)
                    for values, expectation, k, at in zip(
                        family, expectations, seeds, looks, strict=True
                    )
                ]
            )
        yield judged, sum(seeds) / len(seeds)


def _remembering() -> Callable[[np.ndarray, Expectation], Evidence]:
    """``evidence`` at the looks at one claim, each computed once."""
    found: dict[int, Evidence] = {}

    def at(values: np.ndarray, expectation: Expectation) -> Evidence:
        count = len(values)
        if count not in found:
            found[count] = evidence(
                values, expectation, _random_tail if count > EXACT else upper_tail
            )
        return found[count]

    return at


def _random_tail(values: np.ndarray) -> float:
    sums = _signs(len(values)) @ values
    return float((1 + np.count_nonzero(sums >= values.sum())) / (1 + DRAWS))


@cache
def _signs(count: int) -> np.ndarray:
    """Random choices of ``count`` signs, [DRAWS, ``count``]."""
    return 2.0 * np.random.default_rng(count).integers(0, 2, (DRAWS, count)) - 1
