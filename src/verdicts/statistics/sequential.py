"""Looks: a claim is judged at numbers of seeds that were fixed beforehand, until it is decided.

A look spends a share of the level ``ALPHA``: half of it at the first look, half of what is left at
each further one, and all that is left at the last. A claim's p value is the smallest p / share of
the looks taken, so (union bound) it is one whenever one stops. It can only fall with more looks;
Holm's method therefore keeps its level in a family whose claims are at different looks, and what is
decided stays decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from verdicts.registry import check
from verdicts.statistics.estimates import FEWEST
from verdicts.statistics.evidence import Evidence, Expectation, evidence
from verdicts.statistics.one_sample import Interval

#: The numbers of seeds at which a claim is judged, rising; empty for a claim without a plan.
Plan = tuple[int, ...]

MOST_LOOKS = 10


def checked_plan(key: str, value: object) -> Plan:
    """The plan that a claims file gives, as ``[10, 20, 40]``; null is none. A UserError if not."""
    if value is None:
        return ()
    looks = value if isinstance(value, list) else []
    right = (
        0 < len(looks) <= MOST_LOOKS
        and all(type(look) is int and look >= FEWEST for look in looks)
        and all(one < other for one, other in pairwise(looks))
    )
    wanted = f"give rising numbers of seeds from {FEWEST} on, at most {MOST_LOOKS}, or null"
    check(right, key, value, wanted)
    return tuple(looks)


def shares(plan: Plan) -> list[float]:
    """The share of α that each look spends; their sum is 1."""
    halves = [0.5 ** (k + 1) for k in range(len(plan))]
    return [*halves[:-1], 2 * halves[-1]] if plan else [1.0]


def sequential(values: np.ndarray, expectation: Expectation, plan: Plan) -> Evidence:
    """The evidence at the last look that so many values allow, with p values over all looks.

    ``values`` are in the order of seeds: the first ones count, and those between two looks do not.
    A seed without a value (NaN) is a seed.
    """
    taken = [look for look in plan if look <= len(values)]
    if taken:
        return over_looks([evidence(values[:look], expectation) for look in taken], plan)
    early, nan = evidence(values, expectation), float("nan")
    obstacle = early.obstacle or f"{len(values)} of the {plan[0]} seeds of the first look"
    return replace(early, p=nan, p_equivalent=nan, plan=plan, looks=0, obstacle=obstacle)


def over_looks(looks: Sequence[Evidence], plan: Plan) -> Evidence:
    """The last evidence of the first looks of a plan, with p values over all of them.

    The interval has what no look rejects at its share of the level.
    """
    p, first = _smallest([look.p for look in looks], plan)
    last = looks[-1]

    def interval(level: float) -> Interval:
        spent = zip(looks, shares(plan), strict=False)
        ends = np.array([look.interval(share * level) for look, share in spent])
        ends = ends[~np.isnan(ends).any(axis=1)]
        if not len(ends):
            return np.nan, np.nan
        low, high = float(ends[:, 0].max()), float(ends[:, 1].min())
        return (low, high) if low <= high else looks[first].interval(shares(plan)[first] * level)

    return replace(
        last,
        p=p,
        p_equivalent=_smallest([look.p_equivalent for look in looks], plan)[0],
        side=looks[first].side,
        obstacle=last.obstacle if all(look.obstacle for look in looks) else "",
        interval=interval,
        at_last_look=lambda level: last.interval(shares(plan)[len(looks) - 1] * level),
        plan=plan,
        looks=len(looks),
    )


def _smallest(p: Sequence[float], plan: Plan) -> tuple[float, int]:
    """The smallest p / share, at most 1, and its look; NaN if no look has a p value."""
    scaled = [value / share for value, share in zip(p, shares(plan), strict=False)]
    if np.isnan(scaled).all():
        return float("nan"), len(p) - 1
    first = int(np.nanargmin(scaled))
    return min(1.0, scaled[first]), first


def share_at(evidence: Evidence, *, coming: bool = False) -> float:
    """The share of α of the last look taken, or of the look that comes; 1 without a plan."""
    spent = shares(evidence.plan)
    taken = (evidence.looks or 0) + coming
    return spent[min(max(taken, 1), len(spent)) - 1]
