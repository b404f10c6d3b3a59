"""How often verdicts over universes are false where the truth is known, by simulation.

Settings are uniform between 0 and 1. Effects are in standard deviations of the noise of one seed;
the margin is 1. What is measured in a universe is its effect and the mean noise of its seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from verdicts.statistics import judgement
from verdicts.statistics.error_rates import MARGIN, NOISE, share
from verdicts.statistics.estimates import ALPHA
from verdicts.statistics.expectation import Expectation
from verdicts.statistics.judgement import DEPENDS, OVER_UNIVERSES, Verdict
from verdicts.statistics.multiverse import examined, judge_multiverses

CLAIM = Expectation("above", 0.0, MARGIN)

SIZES = ((60, 1), (60, 3), (200, 1), (200, 3))
"""Numbers of universes, and of seeds in each."""

SETTINGS = ("a", "b", "c", "d", "e", "f")

#: From the settings and a stream, the effect of each universe.
Effects = Callable[[pd.DataFrame, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Truth:
    """What is true of a multiverse, and which verdicts say so."""

    name: str
    effects: Effects
    right: str = ""
    """The verdict that says so; empty if none does."""
    settings: tuple[str, ...] = ()
    """Those that decide: a rule that names another is false."""
    claims: int = 1
    """The number of claims in the family, all with this truth and the same universes."""
    noises: tuple[str, ...] = ("normal",)


def _everywhere(effect: float) -> Effects:
    return lambda settings, stream: np.full(len(settings), effect)


def _where(condition: Callable[[pd.DataFrame], pd.Series], yes: float, no: float) -> Effects:
    return lambda settings, stream: np.where(condition(settings), yes, no)


def _by_chance(share: float, yes: float, no: float) -> Effects:
    return lambda settings, stream: np.where(stream.random(len(settings)) < share, yes, no)


def _opposed(opposite: Callable[[pd.DataFrame], pd.Series | float]) -> Effects:
    """−8 with this probability, and of the others 8 in five of nine, else 0."""

    def effects(settings: pd.DataFrame, stream: np.random.Generator) -> np.ndarray:
        others = np.where(stream.random(len(settings)) < 5 / 9, 8.0, 0.0)
        return np.where(stream.random(len(settings)) < opposite(settings), -8.0, others)

    return effects


def _depends(name: str, effects: Effects, *settings: str, **more: Any) -> Truth:
    return Truth(name, effects, DEPENDS, settings, **more)


ALL = tuple(NOISE)

LIMIT = "8 in 80 % of the universes, 1 in the others by chance"
"""Noise lifts half of the others above the margin."""

TRUTHS = (
    Truth("0 everywhere", _everywhere(0), judgement.NO_EFFECT, noises=ALL),
    Truth("1 everywhere: at the margin", _everywhere(1)),
    Truth("4 everywhere", _everywhere(4), judgement.ROBUST),
    Truth("−4 everywhere", _everywhere(-4), judgement.REVERSED),
    Truth("8 in 80 % of the universes, −6 in the others by chance", _by_chance(0.8, 8, -6)),
    Truth("the same of each of 6 claims", _by_chance(0.8, 8, -6), claims=6),
    Truth("−6 in 80 % of the universes, 8 in the others by chance", _by_chance(0.8, -6, 8)),
    Truth("0 in 80 % of the universes, 8 in the others by chance", _by_chance(0.8, 0, 8)),
    Truth("8 in half of the universes, −6 in the others by chance", _by_chance(0.5, 8, -6)),
    Truth("8 in 25 % of the universes, −8 in 55 %, else 0 by chance", _opposed(lambda s: 0.55)),
    _depends("4 where a ≤ 0.4, else 0", _where(lambda s: s["a"] <= 0.4, 4, 0), "a", noises=ALL),
    _depends("2 where a ≤ 0.4, else 0", _where(lambda s: s["a"] <= 0.4, 2, 0), "a"),
    _depends(
        "4 where a ≤ 0.6 and b > 0.4, else −2",
        _where(lambda s: (s["a"] <= 0.6) & (s["b"] > 0.4), 4, -2),
        *("a", "b"),
    ),
    _depends(
        "4 where one of a and b is above 0.5, else −4",
        _where(lambda s: (s["a"] > 0.5) != (s["b"] > 0.5), 4, -4),
        *("a", "b"),
    ),
    _depends("8 a − 3, which grows with a", lambda s, stream: 8 * s["a"].to_numpy() - 3, "a"),
    _depends(
        "−8 where a ≤ 0.55, else 8 or 0 by chance",
        _opposed(lambda s: (s["a"] <= 0.55).astype(float)),
        "a",
    ),
    Truth(LIMIT, _by_chance(0.8, 8, 1)),
)


def multiverse_rates(
    simulations: int, truths: Iterable[Truth] = TRUTHS, sizes: Iterable[tuple[int, int]] = SIZES
) -> pd.DataFrame:
    """One row per truth, noise, and number of universes and seeds.

    Columns: ``false_robust``, ``false_depends``, …: the shares of simulated families with this
    verdict where it is not true; a rule is false if it names a setting that does not decide.
    ``false``: with any; ``power``: the share of the claims that get their true verdict, NaN if
    there is none; ``significant``: of those for which the test over all universes is.
    """
    records: list[dict[str, object]] = []
    for truth in truths:
        for noise, (universes, seeds) in product(truth.noises, sizes):
            name = f"{truth.name} {noise} {universes} {seeds}"
            stream = np.random.default_rng(list(name.encode()))
            families = [_family(truth, noise, universes, seeds, stream) for _ in range(simulations)]
            size = {"universes": universes, "seeds": seeds}
            records.append(
                {"truth": truth.name, "noise": noise, **size, **_shares(truth, families)}
            )
    return pd.DataFrame(records)


def _family(
    truth: Truth, noise: str, universes: int, seeds: int, stream: np.random.Generator
) -> list[Verdict]:
    """The verdicts on the claims of a simulated family."""
    settings = pd.DataFrame(stream.random((universes, len(SETTINGS))), columns=list(SETTINGS))
    family = []
    for _ in range(truth.claims):
        noises = NOISE[noise](stream, (universes, seeds)).mean(axis=1)
        effects = pd.Series(truth.effects(settings, stream) + noises)
        family.append(examined(effects, settings, universes, CLAIM))
    return judge_multiverses(family)


def _shares(truth: Truth, families: Sequence[Sequence[Verdict]]) -> dict[str, float]:
    def right(each: Verdict) -> bool:
        assert each.multiverse is not None
        named = set(each.multiverse.rule_settings)
        return each.verdict == truth.right and named <= set(truth.settings)

    wrong = [{each.verdict for each in family if not right(each)} for family in families]
    every = [each for family in families for each in family]
    return {
        **{
            f"false_{verdict}": share(verdict in each for each in wrong)
            for verdict in OVER_UNIVERSES
        },
        "false": share(bool(each & set(OVER_UNIVERSES)) for each in wrong),
        "power": share(right(each) for each in every if truth.right),
        "significant": share(each.p_adjusted <= ALPHA for each in every),
    }
