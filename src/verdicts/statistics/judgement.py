"""Verdicts on claims: holds, fails, equivalent, undecided, not run; and those over universes.

Evidence becomes a verdict by p values that are adjusted within the family of the claim (Holm). Two
kinds of p values are adjusted separately, each at 5 %: those of a difference (``p``), and those of
equivalence (``p_equivalent``).

Over universes, a verdict follows from the shares of universes:

- ``robust``: the claim holds beyond the margin in at least 90 % of the universes, and the lower
  limit of this share is at least 80 %; ``reversed``, ``no effect``: the same of its opposite, and
  of an effect within the margin;
- ``depends``: none of these, and a rule on at most two settings (``rules``) tells where it holds,
  or where its opposite does;
- ``undecided`` otherwise.

p values of all universes, of shares and of rules are adjusted within the claim's family, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from verdicts.statistics.estimates import ALPHA, ROUNDING, exceeds
from verdicts.statistics.evidence import Evidence, Expectation
from verdicts.statistics.multiverse import (
    FEWEST_UNIVERSES,
    LEAST,
    MOST,
    Multiverse,
    MultiverseEvidence,
    share_interval,
)
from verdicts.statistics.rules import spoken

if TYPE_CHECKING:
    import pandas as pd

HOLDS = "holds"
FAILS = "fails"
EQUIVALENT = "equivalent"
UNDECIDED = "undecided"
NOT_RUN = "not run"
ROBUST = "robust"
DEPENDS = "depends"
REVERSED = "reversed"
NO_EFFECT = "no effect"

VERDICTS = (HOLDS, FAILS, EQUIVALENT, UNDECIDED, NOT_RUN)
#: The verdicts on claims over universes, besides undecided and not run.
OVER_UNIVERSES = (ROBUST, DEPENDS, REVERSED, NO_EFFECT)

#: The verdict where most universes are on this side (``multiverse.SIDES``).
BY_SIDE = {1: ROBUST, -1: REVERSED, 0: NO_EFFECT}

DECIDED = (HOLDS, FAILS, EQUIVALENT)


@dataclass(frozen=True)
class Verdict:
    """A verdict, and the reason in a short sentence if nothing was decided."""

    verdict: str
    reason: str = ""
    evidence: Evidence | MultiverseEvidence | None = None
    #: Of a difference: ``Evidence.p``, adjusted.
    p_adjusted: float = float("nan")
    p_equivalent_adjusted: float = float("nan")
    #: Number of claims whose p values were adjusted together.
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
    #: A claim of a direction holds or fails, and the effect is shown to be within the margin.
    below_margin: bool = False


def adjusted(p: Sequence[float]) -> list[float]:
    """The p values adjusted by Holm's method, in the order given; NaN is no test.

    Tests whose adjusted p is at most α have a family-wise error rate of at most α, whatever their
    dependence.
    """
    values = np.asarray(p, dtype=float)
    result = np.full(len(values), np.nan)
    order = np.argsort(values)[: np.count_nonzero(~np.isnan(values))]
    factors = np.arange(len(order), 0, -1)
    result[order] = np.minimum(1, np.maximum.accumulate(factors * values[order]))
    return result.tolist()


def judge(family: Sequence[Evidence]) -> list[Verdict]:
    """A verdict for each evidence of a family of claims."""
    differences = adjusted([evidence.p for evidence in family])
    equivalences = adjusted([evidence.p_equivalent for evidence in family])
    verdicts = []
    for evidence, p, p_equivalent in zip(family, differences, equivalences, strict=True):
        verdict, reason = _decided(evidence, p, p_equivalent)
        shown = evidence.expectation.directed and verdict in (HOLDS, FAILS)
        below = shown and p_equivalent <= ALPHA
        size = len(family)
        verdicts.append(
            Verdict(verdict, reason, evidence, p, p_equivalent, size, below_margin=below)
        )
    return verdicts


def judge_exact(found: Evidence) -> Verdict:
    """The verdict on a number that is the same in all seeds, by its value: nothing is sampled.

    A direction holds or fails, and is equivalent within the margin; ``near`` and ``paper`` hold
    within the margin, the margin included.
    """
    expected, value = found.expectation, found.expectation.value
    off = found.estimate - value
    inside = expected.margin is not None and not exceeds(abs(off), expected.margin)
    beyond = (off if expected.relation == "above" else -off) > ROUNDING * max(
        abs(found.estimate), abs(value)
    )
    if inside:
        verdict = EQUIVALENT if expected.directed else HOLDS
    else:
        verdict = HOLDS if expected.directed and beyond else FAILS
    none = dict.fromkeys(("p", "p_t", "p_sign_flip", "p_equivalent"), float("nan"))
    return Verdict(verdict, "exact: its value decides", replace(found, **none))  # type: ignore[arg-type]


def judge_cases(cases: pd.DataFrame) -> Verdict:
    """The verdict of a table of cases (``quantity_registry.cases``): holds if all are met."""
    met_in = cases["met"].eq(True)
    count, met = len(cases), int(met_in.sum())
    if not count:
        return Verdict(NOT_RUN, "there are no cases")
    worst, broken = hardest(cases), ""
    if met < count:
        broken = f"met in {met} of {count} cases; not in {cases[~met_in].iloc[0]['case']}"
    return Verdict(
        FAILS if broken else HOLDS,
        broken,
        met=met,
        cases=count,
        hardest=str(worst["case"]),
        hardest_measured=float(worst["measured"]),
        hardest_limit=float(worst["limit"]),
    )


def hardest(cases: pd.DataFrame) -> pd.Series:
    """The case furthest beyond its limit; if all are met, the one nearest to its limit.

    Distances are those of logarithms. A measured value or a limit that is no number is NaN.
    """
    import pandas as pd

    table = cases.reset_index(drop=True)
    for name in ("measured", "limit"):
        table[name] = pd.to_numeric(table[name], errors="coerce").astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = pd.Series(np.log(table["measured"] / table["limit"]))
    distance = ratio.abs().fillna(np.inf)
    broken = ~table["met"].eq(True)
    at = distance[broken].argmax() if broken.any() else distance.argmin()
    return (table[broken] if broken.any() else table).iloc[int(at)]


def judge_every(cells: Sequence[Verdict]) -> Verdict:
    """The verdict on a claim about each of its cells.

    It fails if a cell fails, and holds (or is equivalent) if all cells do.
    """
    verdicts = [cell.verdict for cell in cells]
    counted = {name: verdicts.count(name) for name in VERDICTS if name in verdicts}
    summary = ", ".join(f"{name} in {count}" for name, count in counted.items())
    reason = f"of {len(cells)} cells: {summary}"
    if FAILS in counted:
        return Verdict(FAILS, reason)
    if len(counted) == 1:
        only = verdicts[0]
        below = all(cell.below_margin for cell in cells)
        reason = cells[0].reason if only in (UNDECIDED, NOT_RUN) else f"in all {len(cells)} cells"
        return Verdict(only, reason, below_margin=below)
    return Verdict(UNDECIDED, reason)


def _decided(evidence: Evidence, p: float, p_equivalent: float) -> tuple[str, str]:
    """The verdict by adjusted p values, and the reason if undecided."""
    if evidence.obstacle:
        return UNDECIDED, evidence.obstacle
    expected = evidence.expectation
    different, equivalent = p <= ALPHA, p_equivalent <= ALPHA
    lost = "the correction for the family leaves no significant"
    if expected.directed:
        if different:
            right = evidence.side == (1 if expected.relation == "above" else -1)
            return (HOLDS if right else FAILS), ""
        if equivalent:
            return EQUIVALENT, ""
        why = f"the difference from {expected.value:g} is not significant"
        return UNDECIDED, f"{lost} difference" if evidence.p <= ALPHA else why
    if equivalent:
        return HOLDS, ""
    if different:
        return FAILS, ""
    why = f"neither within nor outside {expected.value:g} ± {expected.margin:g} for sure"
    either = min(evidence.p, evidence.p_equivalent) <= ALPHA
    return UNDECIDED, f"{lost} result" if either else why


def judge_multiverses(family: Sequence[MultiverseEvidence]) -> list[Verdict]:
    """A verdict for each claim of a family."""
    overall = adjusted([evidence.p for evidence in family])
    shares = adjusted([evidence.p_share for evidence in family])
    rules = adjusted([evidence.rule.p for evidence in family])
    size = len(family)
    return [
        _over_universes(evidence, p, p_share, p_rule, size)
        for evidence, p, p_share, p_rule in zip(family, overall, shares, rules, strict=True)
    ]


def _over_universes(
    evidence: MultiverseEvidence, p: float, p_share: float, p_rule: float, family: int
) -> Verdict:
    found = replace(evidence.found, p=p)
    if p_rule > ALPHA:
        found = replace(found, rule="", rule_accuracy=math.nan, rule_settings=())
    verdict, why = _decided_by_shares(evidence, found, p_share)
    reason = "; ".join(filter(None, (why, _sentence(found, verdict, evidence.expectation))))
    return Verdict(verdict, reason, evidence, p, family=family, multiverse=found)


def _decided_by_shares(
    evidence: MultiverseEvidence, found: Multiverse, p_share: float
) -> tuple[str, str]:
    """The verdict by adjusted p values, and why it is none."""
    side = evidence.side
    if found.count < FEWEST_UNIVERSES:
        return UNDECIDED, f"too few universes: a verdict takes {FEWEST_UNIVERSES}"
    without_a_margin = side == 0 and evidence.expectation.margin is None
    if found.number(side) / found.count >= MOST and not without_a_margin:
        if p_share <= ALPHA / 2 and (side == 0 or found.p <= ALPHA):
            return BY_SIDE[side], ""
        if evidence.p_share <= ALPHA / 2:
            return UNDECIDED, "the correction for the family leaves no significant result"
        return UNDECIDED, f"the share's lower limit is below {_percent(LEAST)} %"
    if found.rule:
        return DEPENDS, ""
    return UNDECIDED, "no rule on two settings tells where"


def _sentence(found: Multiverse, verdict: str, expectation: Expectation) -> str:
    """``holds beyond the margin in 187 of 200 universes (94 %, 95 % interval 89 to 97 %), …``.

    The number is that behind the verdict.
    """
    beyond = " beyond the margin" if expectation.margin is not None else ""
    said, number = f"holds{beyond}", found.holds
    if verdict == REVERSED:
        said, number = f"the opposite {said}", found.reversed
    elif verdict == NO_EFFECT:
        said, number = "the effect is within the margin", found.within
    low, high = (_percent(end) for end in share_interval(number, found.count))
    share = f"{_percent(number / found.count)} %, 95 % interval {low} to {high} %"
    parts = [f"{said} in {number} of {found.count} universes ({share})"]
    if verdict in (DEPENDS, UNDECIDED):
        parts.append(f"the opposite in {found.reversed}")
    if found.of > found.count:
        diverged = f" (diverged on both sides: {found.both_diverged})" * bool(found.both_diverged)
        parts.append(f"{found.of - found.count} more do not count{diverged}")
    parts.append("over all p < 0.001" if found.p < 0.001 else f"over all p = {found.p:.3f}")
    if not found.rule:
        return ", ".join(parts)
    names = " and ".join(spoken(name) for name in found.rule_settings)
    right = f"right in {_percent(found.rule_accuracy)} % of universes, cross-validated"
    return f"on {names}: {found.rule_of} where {found.rule} ({right}); {', '.join(parts)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"
