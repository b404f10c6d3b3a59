"""Verdicts as printed: a line for each claim or cell."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd

from verdicts.row import ABSENT, Row, number

EXPLAINED = (
    "Measured: the mean over seeds, or the number of cases. p: adjusted within the family of "
    "claims. Smallest effect: the difference that so many seeds show with power 80 %. Seeds "
    "needed: to decide the claim with that power, if what was measured is true."
)


def print_board(rows: Iterable[Row], *, cells: bool = False) -> pd.DataFrame:
    """The claims among ``rows``, or their cells, as a table of strings."""
    return pd.DataFrame([_line(row) for row in rows if bool(row.cell) == cells])


def _line(row: Row) -> dict[str, str]:
    what = {"Cell": row.cell} if row.cell else {"Place": row.place, "Statement": row.says}
    return {
        "Claim": row.claim,
        **what,
        "Verdict": row.verdict + row.also,
        "Expected": str(row.expectation or ABSENT),
        "Measured": row.measured,
        "95 % interval": row.interval,
        "n": row.counted,
        "p": _p(row.deciding_p),
        "Smallest effect": number(row.detectable),
        "Seeds needed": _seeds(row.seeds_needed),
        "Reason": "; ".join(filter(None, (*row.remarks, row.hardest_case, row.registration)))
        or ABSENT,
        "Shown in": row.shows or ABSENT,
    }


def _p(value: float) -> str:
    if math.isnan(value):
        return ABSENT
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _seeds(value: float) -> str:
    return "> 10,000" if value > 1e4 else ABSENT if math.isnan(value) else f"{value:,.0f}"
