"""What the universes of a claim say: samples of the settings that nobody stated.

A universe has one effect: the mean of the claim's numbers over its seeds. It is beyond the margin
as claimed, beyond it the other way, or within it. ``judgement`` has the verdicts.

Limits of shares are Clopper and Pearson's: exact, so that they are never too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verdicts.lazy import pd, special, stats
from verdicts.statistics.evidence import Evidence, Expectation
from verdicts.statistics.samples import ALPHA, exceeds, median_interval, signed_ranks
from verdicts.statistics.setting_rules import NONE, Rule, cut_at, find_rule

#: With 16 universes, no share has a lower limit of 80 %; with 20, it takes all.
FEWEST_UNIVERSES = 20

#: The share of universes that a verdict on nearly all of them takes, and its lower limit.
MOST, LEAST = 0.9, 0.8

#: Lower limit of the share of each side where a claim is mixed; the upper one is ``LEAST``.
SOME = 0.1

#: Two shares are judged at once, so that the interval of each is of 1 − ALPHA / 2.
SHARES = 2

#: Into so many parts of equal size a numeric setting is cut, for shares of variance.
BINS = 5

#: Where an effect is: beyond the margin as claimed, beyond it the other way, or within it.
SIDES = (1, -1, 0)


@dataclass(frozen=True)
class Multiverse:
    """What the universes say of a claim. What does not exist is NaN, empty or 1 (a p value)."""

    #: The universes that count.
    count: int
    #: All that were sampled.
    of: int
    #: In how many the claim holds beyond the margin, …
    holds: int
    #: … its opposite does, …
    reversed: int
    #: … and the effect is within the margin.
    within: int
    #: ``holds`` / ``count``, …
    share: float
    #: … and its interval (``share_interval``).
    low: float
    high: float
    #: The two-sided p value of the hypothesis that no universe has an effect (``p_of_all``),
    #: adjusted within the family.
    p: float
    #: ``γ ≤ 0.3``; empty if there is none.
    rule: str
    #: What the rule tells apart: where it ``holds``, or where its opposite does (``reversed``).
    rule_of: str
    #: The share of universes in which the rule is right, cross-validated.
    rule_accuracy: float
    rule_settings: tuple[str, ...]
    #: The share of the variance of the effects' ranks that each setting explains alone.
    variance: Mapping[str, float]
    #: Universes that do not count because both sides diverged.
    both_diverged: int = 0
    #: Rows of ``shares_by`` two settings: those of the rule, or that explain most variance.
    shares: Sequence[Mapping[str, Any]] = ()

    def number(self, side: int) -> int:
        """The universes on a side, as in ``SIDES``."""
        return {1: self.holds, -1: self.reversed, 0: self.within}[side]

    @property
    def by_cell(self) -> str:
        """The cells of ``shares`` where it holds most, and where its opposite does, in words."""
        told = []
        for name, words in (("holds", "holds"), ("reversed", "its opposite")):
            best = max(self.shares, key=lambda cell: (cell[name], cell["count"]), default={name: 0})
            if best[name]:
                share = f"{100 * best[name]:.0f} % of the {best['count']}"
                told.append(f"{words} in {share} with {best['where']}")
        return ", ".join(told)

    def interval(self, side: int) -> tuple[float, float]:
        """The ``share_interval`` of the universes on a side."""
        return share_interval(self.number(side), self.count)


@dataclass(frozen=True, kw_only=True)
class MultiverseEvidence(Evidence):
    """What the effects of a claim's universes say, before the adjustment in its family.

    ``pairs`` is the number of universes that count, ``infinite`` that of infinite effects among
    them, ``p`` that of ``p_of_all``, and ``estimate`` the median effect. Its interval is of 95 %,
    whatever the level. There is no spread, and there are no interim analyses.
    """

    multiverse: Multiverse
    rule: Rule


def examined(
    effects: pd.Series,
    settings: pd.DataFrame,
    sampled: int,
    expectation: Expectation,
    both_diverged: int = 0,
) -> MultiverseEvidence:
    """The evidence in the effects of the universes that count, one or more, with their settings.

    ``sampled`` is the number of all universes, with those that do not count; in ``both_diverged``
    of these, both sides diverged.
    """
    side, values = sides(effects, expectation), effects.to_numpy(dtype=float)
    count, (holds, opposite, within) = len(values), (int((side == way).sum()) for way in SIDES)
    enough = count >= FEWEST_UNIVERSES
    divided = enough and max(holds, opposite, within) < MOST * count
    of, rule = _rule(side, holds, opposite, settings) if divided else (1, NONE)
    low, high = share_interval(holds, count)
    variance = variance_shares(values, settings) if enough else {}
    shares = shares_by(side, settings, deciding(rule.settings, variance), rule)
    multiverse = Multiverse(
        count=count, of=sampled, holds=holds, reversed=opposite, within=within,
        share=holds / count, low=low, high=high, p=p_of_all(values - expectation.value),
        rule=rule.text, rule_of="holds" if of == 1 else "reversed",
        rule_accuracy=rule.accuracy, rule_settings=tuple(rule.settings),
        variance=variance, both_diverged=both_diverged, shares=shares,
    )  # fmt: skip
    infinite, (median, *ends) = int(np.isinf(values).sum()), median_interval(np.sort(values))
    return MultiverseEvidence(
        expectation, count, infinite, median, math.nan, "", p=multiverse.p,
        interval=lambda level: (ends[0], ends[1]), multiverse=multiverse, rule=rule,
    )  # fmt: skip


def deciding(of_rule: Iterable[str], variance: Mapping[str, float]) -> list[str]:
    """The settings of a rule, then those that explain most of the variance: two of them."""
    most = sorted(variance, key=lambda name: -variance[name])
    return list(dict.fromkeys([*of_rule, *most]))[:2]


def _rule(side: np.ndarray, holds: int, opposite: int, settings: pd.DataFrame) -> tuple[int, Rule]:
    """The side that a rule tells, and the rule, whose p value is for all sides that were asked.

    The claim is asked, and then its opposite if that is more frequent; the opposite alone where the
    claim holds almost nowhere.
    """
    rare = holds < (1 - LEAST) * len(side)
    asked = (1,) if opposite <= holds else (-1,) if rare else (1, -1)
    for of in asked:
        if (rule := find_rule(side == of, settings)) is not NONE:
            return of, rule._replace(p=min(1.0, rule.p * len(asked)))
    return 1, NONE


def sides(effects: pd.Series, expectation: Expectation) -> np.ndarray:
    """1: beyond the margin as claimed; −1: the other way; 0: within the margin."""
    off = expectation.toward(effects).to_numpy(dtype=float)
    margin = expectation.margin or 0.0
    return np.where(exceeds(off, margin), 1, np.where(exceeds(-off, margin), -1, 0))


def shares_by(
    side: np.ndarray, settings: pd.DataFrame, names: Sequence[str], rule: Rule = NONE
) -> list[dict[str, Any]]:
    """The shares of the universes on each ``side`` (``SIDES``), in the cells of some settings.

    Numbers are cut where the ``rule`` cuts them, or else at their median. Each has ``where`` (the
    cell in words), ``count``; ``holds`` and ``reversed``, the shares, each with ``_low`` and
    ``_high``, the ends of its interval (``share_interval``).
    """
    parts = [cut_at(settings[name], rule.settings.get(name, ())) for name in names]
    where = np.array([" and ".join(cell) for cell in zip(*parts, strict=True)])
    records = []
    for cell in np.unique(where):
        inside = side[where == cell]
        record: dict[str, Any] = {"where": str(cell), "count": len(inside)}
        for of, name in ((1, "holds"), (-1, "reversed")):
            number = int((inside == of).sum())
            low, high = share_interval(number, len(inside))
            record |= {name: number / len(inside), f"{name}_low": low, f"{name}_high": high}
        records.append(record)
    return records


def tolerated(number: int, count: int) -> float:
    """The correlation between universes up to which the lower limit of a share is above 1/2.

    So many universes with this correlation ρ say as much as count / (1 + (count − 1) ρ) others.
    """
    share, few, many = number / count, 0.0, float(count)
    while many - few > 1e-3:
        half = (few + many) / 2
        enough = share_interval(share * half, half)[0] > 0.5
        few, many = (few, half) if enough else (half, many)
    return (count / many - 1) / (count - 1)


def share_interval(
    number: float, count: float, alpha: float = ALPHA / SHARES
) -> tuple[float, float]:
    """Clopper and Pearson's interval of 1 − ``alpha`` of a share of a count; 97.5 % by default.

    Effective numbers need not be whole.
    """
    tail = alpha / 2
    low = special.betaincinv(number, count - number + 1, tail) if number else 0.0
    high = special.betaincinv(number + 1, count - number, 1 - tail) if number < count else 1.0
    return float(low), float(high)


def p_of_all(effects: np.ndarray) -> float:
    """The two-sided p value of the hypothesis that no universe has an effect.

    Under it, the effect of a universe is as likely to be positive as negative. The test is
    Wilcoxon's: it adds up the ranks of the absolute effects with their signs, so that universes on
    other scales count alike, and a few large effects do not decide. The sum is taken as normal,
    with its variance over all choices of signs.
    """
    ranks = signed_ranks(effects)
    size = math.sqrt(float(ranks @ ranks))
    return float(2 * special.ndtr(-abs(ranks.sum()) / size)) if size else math.nan


def variance_shares(effects: np.ndarray, settings: pd.DataFrame) -> dict[str, float]:
    """The share of the variance of the effects' ranks that each setting explains alone.

    The correlation ratio of ``BINS`` parts of equal size (or of categories), without its bias
    (ε², Kelley 1935): what chance explains is taken off, and less than nothing is 0.
    """
    ranks = stats.rankdata(effects)
    spread = np.var(ranks, ddof=1)
    shares = {}
    for name, values in settings.items():
        part = _parts(values)
        sizes = np.bincount(part)
        freedom = len(ranks) - len(sizes)
        inner = ((ranks - (np.bincount(part, ranks) / sizes)[part]) ** 2).sum()
        explained = 1 - inner / freedom / spread if spread and freedom else 0.0
        shares[str(name)] = max(0.0, float(explained))
    return shares


def _parts(values: pd.Series) -> np.ndarray:
    """The part of each value: of equal size for more than ``BINS`` numbers, else for each value."""
    if pd.api.types.is_numeric_dtype(values) and values.nunique() > BINS:
        order = np.argsort(np.argsort(values.to_numpy(), kind="stable"))
        return order * BINS // len(order)
    return pd.factorize(values)[0]
