"""Verdicts: the classes, and the rule for each.

A correction makes success harder, never easier: what is claimed is adjusted within its family
(Holm), and what speaks against it is not. Of a claim at a setting, each at 5 %:

- ``equivalent``: a side is claimed, and the number is within the margin, which counts as none (not
  adjusted);
- ``holds``: the number is on the side that is claimed, or within the margin of ``near``;
- ``reversed``: it is on the other side; ``fails``: it is not within the margin of ``near``, or a
  case of a theorem is not met;
- ``consistent``, ``not met``: a printed number is in the prediction interval for one more run, or
  is not (not adjusted); ``cannot be told``: it is, and so is zero, or the interval is ``WIDE``;
- ``depends``: of the values of a setting that the author does not state, it holds at some, and at
  others its opposite is shown, or no difference;
- ``undecided``: none of these; ``out of scale``: what was run is not what is claimed; ``not run``.

Over universes, the first that applies. Shares of universes have simultaneous exact intervals, of
97.5 % each:

- ``robust``, ``reversed``, ``no effect``: at least 90 % of the universes are on that side, and the
  lower limit is 80 % or more;
- ``mostly holds``, ``mostly reversed``: the lower limit is above 50 %;
- ``depends``: a rule on at most two settings (``rules``) tells where it holds, or its opposite;
- ``mixed``: both lower limits are above 10 %, and both upper ones below 80 %;
- ``undecided`` otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from verdicts.lazy import pd, special
from verdicts.statistics import multiverse as universes
from verdicts.statistics.evidence import SKEWED, Evidence, Expectation
from verdicts.statistics.multiverse import LEAST, MOST, SIDES, SOME, Multiverse, MultiverseEvidence
from verdicts.statistics.planning import share_at
from verdicts.statistics.samples import ALPHA, ROUNDING, Interval, exceeds
from verdicts.statistics.setting_rules import spoken

HOLDS, FAILS, REVERSED, EQUIVALENT = "holds", "fails", "reversed", "equivalent"
CONSISTENT, NOT_MET, CANNOT_TELL = "consistent", "not met", "cannot be told"
UNDECIDED, OUT_OF_SCALE, NOT_RUN = "undecided", "out of scale", "not run"
ROBUST, NO_EFFECT, DEPENDS, MIXED = "robust", "no effect", "depends", "mixed"
MOSTLY_HOLDS, MOSTLY_REVERSED = "mostly holds", "mostly reversed"

#: All verdicts, in the order in which they are counted.
VERDICTS = (
    *(HOLDS, FAILS, REVERSED, EQUIVALENT, CONSISTENT, NOT_MET, DEPENDS),
    *(ROBUST, NO_EFFECT, MOSTLY_HOLDS, MOSTLY_REVERSED, MIXED),
    *(UNDECIDED, CANNOT_TELL, OUT_OF_SCALE, NOT_RUN),
)
#: Counted where there are none, too.
ALWAYS = (HOLDS, FAILS, EQUIVALENT, UNDECIDED, NOT_RUN)

#: Verdicts on a cell that say yes, and no.
RIGHT, WRONG = {HOLDS, CONSISTENT}, {FAILS, REVERSED, EQUIVALENT, NOT_MET}

#: Verdicts on printed numbers.
PRINTED = (CONSISTENT, NOT_MET, CANNOT_TELL)

#: A prediction interval of more than this share of its scale (20 points of 100) tells nothing.
WIDE = 0.2

#: Verdicts with which ``verdicts check --strict`` has the exit status 1.
STRICT = (FAILS, REVERSED, NOT_MET, MOSTLY_REVERSED, OUT_OF_SCALE, NOT_RUN)

#: The verdict where nearly all universes are on this side (``multiverse.SIDES``), …
NEARLY_ALL = {1: ROBUST, -1: REVERSED, 0: NO_EFFECT}
#: … and where most are.
MOSTLY = {1: MOSTLY_HOLDS, -1: MOSTLY_REVERSED}


@dataclass(frozen=True)
class Verdict:
    """A verdict, and the reason in a short sentence if nothing was decided."""

    verdict: str
    reason: str = ""
    evidence: Evidence | None = None
    #: Of a difference: ``Evidence.p``, adjusted if it is claimed.
    p_adjusted: float = float("nan")
    p_equivalent_adjusted: float = float("nan")
    #: The levels that are left to the two tests.
    level: float = ALPHA
    level_equivalent: float = ALPHA
    #: Number of claims whose p values were adjusted together; 1 for a printed number.
    family: int = 1
    #: Number of cases in which the claim is met; NaN for a claim that is not judged by cases.
    met: float = float("nan")
    cases: float = float("nan")
    #: The name of the case that is the hardest on the claim, …
    hardest: str = ""
    hardest_measured: float = float("nan")
    #: … what was measured in it, and its limit.
    hardest_limit: float = float("nan")
    #: What the universes say, for a claim over universes.
    multiverse: Multiverse | None = None

    @property
    def interval(self) -> Interval:
        """What the test behind the verdict does not reject, at ``interval_level``."""
        return self._ends(self.interval_level, last=self.verdict == UNDECIDED)

    @property
    def interval_level(self) -> float:
        """The level that is left to the test behind the verdict; over universes, 5 %.

        If nothing is decided, that of the wider interval of both tests, at the last analysis.
        """
        found = self.evidence
        if found is None:
            return math.nan
        near = self.verdict == HOLDS and found.expectation.relation == "near"
        if near or self.verdict == EQUIVALENT:
            return 2 * self.level_equivalent
        if self.verdict != UNDECIDED:
            return self.level
        level = min(self.level, 2 * self.level_equivalent)
        return level * (share_at(found) if found.last else 1)

    @property
    def plain_interval(self) -> Interval:
        """The 95 % interval of the last analysis alone, as if the claim were the only one."""
        return self._ends(ALPHA, last=True)

    def _ends(self, level: float, *, last: bool) -> Interval:
        if self.evidence is None:
            return math.nan, math.nan
        intervals = (last and self.evidence.last) or self.evidence.interval
        return self.evidence.expectation.on_scale(*intervals(level))


def holm(p: Sequence[float], claimed: Any = True) -> tuple[list[float], list[float]]:
    """The p values adjusted by Holm's method, and the level of each test; NaN is no test.

    Tests whose adjusted p is at most α have a family-wise error rate of at most α, whatever their
    dependence. The k-th smallest of m is tested at α / (m − k + 1), if all before it are
    significant; those from the first that is not are not significant at its level, either. Those
    that are not ``claimed`` (an array of truths) are kept, at the whole level, and do not count.
    """
    result, levels = np.array(p, dtype=float), np.full(len(p), ALPHA)
    values = np.where(claimed, result, np.nan)
    order = np.argsort(values)[: np.count_nonzero(~np.isnan(values))]
    factors = len(order) - np.searchsorted(values[order], values[order])  # equal ones share theirs
    result[order] = np.minimum(1, np.maximum.accumulate(factors * values[order]))
    significant = int(np.count_nonzero(result[order] <= ALPHA))
    levels[order] = ALPHA / np.maximum(factors, len(order) - significant)
    return result.tolist(), levels.tolist()


def judge(family: Sequence[Evidence]) -> list[Verdict]:
    """A verdict for each evidence of a family of claims.

    What is claimed is adjusted within the family: differences, and that a number is ``near``.
    """
    relations = np.array([evidence.expectation.relation for evidence in family], dtype=str)
    claimed = relations != "paper"
    p, level = holm([evidence.p for evidence in family], claimed)
    other_p, other_level = holm([e.p_equivalent for e in family], relations == "near")
    verdicts = []
    for k, evidence in enumerate(family):
        tests = (p[k], other_p[k], level[k], other_level[k])
        size = int(claimed.sum()) if claimed[k] else 1
        verdicts.append(Verdict(*_decided(evidence, *tests[:2]), evidence, *tests, size))
    return verdicts


def judge_exact(evidence: Evidence) -> Verdict:
    """The verdict on a number that is the same in all seeds, by its value: nothing is sampled.

    A direction holds or is reversed, and is equivalent within the margin, the margin included;
    ``near`` holds within it. A printed number is consistent if it is the same.
    """
    expected, value = evidence.expectation, evidence.expectation.value
    off = evidence.estimate - value
    tiny = ROUNDING * max(abs(evidence.estimate), abs(value))
    inside = not exceeds(abs(off), tiny if expected.margin is None else expected.margin)
    right = (off if expected.relation == "above" else -off) > tiny
    known = {"paper": (CONSISTENT, NOT_MET), "near": (HOLDS, FAILS)}
    same, other = known.get(expected.relation, (EQUIVALENT, HOLDS if right else REVERSED))
    found = replace(evidence, p=math.nan, p_t=math.nan, p_sign_flip=math.nan, p_equivalent=math.nan)
    return Verdict(same if inside else other, "exact: its value decides", found)


def judge_cases(cases: pd.DataFrame) -> Verdict:
    """The verdict of a table of cases (``quantities.cases``): holds if all are met.

    The hardest case is the one furthest beyond its limit; if all are met, the one nearest to its
    limit. Distances are those of logarithms. What is no number is NaN.
    """
    broken = ~cases["met"].eq(True)
    count, met = len(cases), int((~broken).sum())
    if not count:
        return Verdict(NOT_RUN, "there are no cases")
    measured, limit = (pd.to_numeric(cases[k], errors="coerce") for k in ("measured", "limit"))
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = (measured.astype(float) / limit).transform(np.log).abs().fillna(np.inf)
    worst = int((distance.where(broken) if broken.any() else -distance).argmax())
    told = [f"met in {met} of {count} cases; not in {case}" for case in cases.loc[broken, "case"]]
    return Verdict(
        FAILS if told else HOLDS, "".join(told[:1]), met=met, cases=count,
        hardest=str(cases["case"].iloc[worst]), hardest_measured=float(measured.iloc[worst]),
        hardest_limit=float(limit.iloc[worst]),
    )  # fmt: skip


class Count(NamedTuple):
    """How many printed numbers, or gaps, lie inside their intervals, of 95 % each."""

    number: int
    inside: int
    #: How many of these are consistent: they can be told.
    consistent: int
    #: The probability that so few or fewer lie inside, if each does with 95 %.
    so_few: float
    #: The p value of the one that is farthest off, by Bonferroni's correction.
    farthest: float

    @classmethod
    def of(cls, verdicts: Iterable[str], p: Iterable[float]) -> Count:
        """The count of verdicts on printed numbers, and the p values behind them.

        Without a p value (NaN), what is not met is so for sure.
        """
        judged = [pair for pair in zip(verdicts, p, strict=True) if pair[0] in PRINTED]
        number, said = len(judged), [verdict for verdict, _ in judged]
        inside = number - said.count(NOT_MET)
        least = min((float(v != NOT_MET) if p != p else p for v, p in judged), default=1.0)
        so_few = float(special.bdtr(inside, number, 1 - ALPHA))
        return cls(number, inside, said.count(CONSISTENT), so_few, min(1.0, number * least))

    @property
    def agrees(self) -> bool:
        """Whether chance may leave out so many, and one so far off; each is tested at 2.5 %."""
        return self.number > 0 and min(self.so_few, self.farthest) > ALPHA / 2

    @property
    def can_be_told(self) -> bool:
        """Whether at least half of them are consistent."""
        return self.number > 0 and 2 * self.consistent >= self.number


def judge_every(cells: Sequence[Verdict], each: str = "cells") -> Verdict:
    """The verdict on a claim about each of its cells.

    It fails (or is not met) if a cell does or is reversed. It holds, is equivalent, … if all cells
    are. Of printed numbers, the ``Count`` of those outside decides: some are so by chance.
    """
    verdicts = [cell.verdict for cell in cells]
    numbers = [f"{name} in {verdicts.count(name)}" for name in VERDICTS if name in verdicts]
    reason = f"of {len(cells)} {each}: {', '.join(numbers)}"
    if len(only := set(verdicts)) == 1:
        told = only & {UNDECIDED, OUT_OF_SCALE, NOT_RUN}
        reason = cells[0].reason if told else f"in all {len(cells)} {each}"
        return Verdict(verdicts[0], reason)
    if FAILS in verdicts or REVERSED in verdicts:
        return Verdict(FAILS, reason)
    printed = [cell.evidence.p for cell in cells if cell.evidence]
    if len(printed) == len(cells) and only & {*PRINTED}:
        count = Count.of(verdicts, printed)
        if count.agrees and count.number == len(cells):
            why = "; by chance, so many may be outside" if NOT_MET in only else ""
            return Verdict(CONSISTENT if count.can_be_told else CANNOT_TELL, reason + why)
        return Verdict(UNDECIDED if count.agrees else NOT_MET, reason)
    return Verdict(next((v for v in (NOT_MET, CANNOT_TELL) if v in only), UNDECIDED), reason)


def judge_depends(setting: str, values: Mapping[str, Sequence[Verdict]]) -> Verdict:
    """The verdict on a claim whose author leaves a ``setting`` open, by the cells of its values.

    Each value is judged over its own cells. It depends if the claim holds (or is consistent) at
    some values, and others show no difference, or the opposite.
    """
    found = {name: judge_every(cells) for name, cells in values.items()}
    verdicts = {value.verdict for value in found.values()}
    if not (verdicts & RIGHT and verdicts & WRONG):
        return judge_every(list(found.values()), f"values of {setting}")
    at = [(v, [name for name, value in found.items() if value.verdict == v]) for v in VERDICTS]
    told = "; ".join(f"{verdict} at {', '.join(names)}" for verdict, names in at if names)
    return Verdict(DEPENDS, f"on {setting}: {told}")


def _decided(evidence: Evidence, p: float, p_equivalent: float) -> tuple[str, str]:
    """The verdict by p values that are adjusted where they must be, and why it is undecided."""
    if evidence.obstacle:
        return UNDECIDED, evidence.obstacle
    expected = evidence.expectation
    if expected.relation == "paper":
        low, high = expected.on_scale(*evidence.interval(ALPHA))
        most = WIDE * np.ptp(expected.scale) if expected.scale else math.inf
        told = high - low <= most and not low <= 0 <= high
        return NOT_MET if p <= ALPHA else CONSISTENT if told else CANNOT_TELL, ""
    if p_equivalent <= ALPHA:
        doubt = "with noise as skewed as these seeds, it is false in up to 24 %"
        doubted = abs(evidence.skewness) > SKEWED
        return EQUIVALENT if expected.directed else HOLDS, doubt * doubted
    if p <= ALPHA:
        right = evidence.side == (1 if expected.relation == "above" else -1)
        return (HOLDS if right else REVERSED) if expected.directed else FAILS, ""
    if min(evidence.p, evidence.p_equivalent) <= ALPHA:
        lost = "difference" if expected.directed else "result"
        return UNDECIDED, f"the correction for the family leaves no significant {lost}"
    if expected.directed:
        return UNDECIDED, f"the difference from {expected.value:g} is not significant"
    around = f"{expected.value:g} ± {expected.margin:g}"
    return UNDECIDED, f"neither within nor outside {around} for sure"


def judge_multiverses(family: Sequence[MultiverseEvidence]) -> list[Verdict]:
    """A verdict for each claim of a family; p values of rules are adjusted within it."""
    overall, _ = holm([evidence.p for evidence in family])
    rules, _ = holm([evidence.rule.p for evidence in family])
    verdicts = []
    for evidence, p, p_rule in zip(family, overall, rules, strict=True):
        multiverse, expected = replace(evidence.multiverse, p=p), evidence.expectation
        if p_rule > ALPHA:
            multiverse = replace(multiverse, rule="", rule_accuracy=math.nan, rule_settings=())
        verdict, why = _by_shares(multiverse, expected)
        reason = "; ".join(filter(None, (why, _sentence(multiverse, verdict, expected))))
        size = len(family)
        verdicts.append(Verdict(verdict, reason, evidence, p, family=size, multiverse=multiverse))
    return verdicts


def _by_shares(multiverse: Multiverse, expectation: Expectation) -> tuple[str, str]:
    """The verdict, and why it is none."""
    if multiverse.count < universes.FEWEST_UNIVERSES:
        return UNDECIDED, f"too few universes: a verdict takes {universes.FEWEST_UNIVERSES}"
    limits = {side: multiverse.interval(side) for side in SIDES}
    for side, verdict in NEARLY_ALL.items():
        share = multiverse.number(side) / multiverse.count
        if share >= MOST and limits[side][0] >= LEAST and (side or expectation.margin is not None):
            return verdict, ""
    for side, verdict in MOSTLY.items():
        if limits[side][0] > 0.5:
            return verdict, ""
    if multiverse.rule:
        return DEPENDS, ""
    if all(limits[side][0] > SOME and limits[side][1] < LEAST for side in MOSTLY):
        return MIXED, ""
    return UNDECIDED, "no share of universes, and no rule on two settings, decides"


def _sentence(multiverse: Multiverse, verdict: str, expectation: Expectation) -> str:
    """``holds beyond the margin in 187 of 200 universes (94 %, interval 89 to 97 %), …``."""
    beyond = " beyond the margin" if expectation.margin is not None else ""
    told = {1: f"holds{beyond} in", -1: "the opposite in", 0: "the effect is within the margin in"}
    first = 0 if verdict == NO_EFFECT else -1 if verdict in (REVERSED, MOSTLY_REVERSED) else 1
    parts = []
    for side in (first, *(side for side in (1, -1) if side != first)):
        low, high = map(_percent, multiverse.interval(side))
        number = multiverse.number(side)
        share = f"{_percent(number / multiverse.count)} %, interval {low} to {high} %"
        of = f" of {multiverse.count} universes" if side == first else ""
        parts.append(f"{told[side]} {number}{of} ({share})")
    if multiverse.of > multiverse.count:
        both = multiverse.both_diverged
        diverged = f" (diverged on both sides: {both})" if both else ""
        parts.append(f"{multiverse.of - multiverse.count} more do not count{diverged}")
    p = "< 0.001" if multiverse.p < 0.001 else f"= {multiverse.p:.3f}"
    parts.append(f"over all p {p}")
    if verdict in MOSTLY.values():
        most = universes.tolerated(multiverse.number(first), multiverse.count)
        parts.append(f"if universes are not correlated by more than {most:.2g}")
    if multiverse.shares:
        parts.append(multiverse.by_cell)
    if not multiverse.rule:
        return ", ".join(parts)
    names = " and ".join(spoken(name) for name in multiverse.rule_settings)
    right = f"right in {_percent(multiverse.rule_accuracy)} % of universes, cross-validated"
    return f"on {names}: {multiverse.rule_of} where {multiverse.rule} ({right}); {', '.join(parts)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"
