"""The ledger of claims as printed: counts, and a line for each claim or cell."""

from __future__ import annotations

import math

import pandas as pd

from verdicts.render.board import ABSENT
from verdicts.statistics.judgement import EQUIVALENT, HOLDS, VERDICTS


def counts(ledger: pd.DataFrame) -> dict[str, int]:
    """The number of claims with each verdict; cells do not count."""
    verdicts = ledger.loc[ledger["cell"] == "", "verdict"].value_counts()
    return {verdict: int(verdicts.get(verdict, 0)) for verdict in VERDICTS}


def counted(ledger: pd.DataFrame) -> str:
    """``2 claims. Holds: 1, fails: 0, equivalent: 0, undecided: 0, not run: 1.``"""
    found = counts(ledger)
    total = sum(found.values())
    parts = ", ".join(f"{verdict}: {count}" for verdict, count in found.items())
    return f"{total} claim{'' if total == 1 else 's'}. {parts.capitalize()}."


def print_board(ledger: pd.DataFrame, *, cells: bool = False) -> pd.DataFrame:
    """The printed form of the claims in ``ledger.ledger``, or of their cells."""
    rows = ledger[(ledger["cell"] != "") == cells]
    names = {"Claim": rows["claim"]}
    names |= (
        {"Cell": rows["cell"]} if cells else {"Place": rows["place"], "Statement": rows["says"]}
    )
    return pd.DataFrame(
        {
            **names,
            "Verdict": rows["verdict"],
            "Expected": rows["expected"].where(rows["expected"] != "", ABSENT),
            "Measured": [_measured(row) for row in rows.itertuples()],
            "p": [_p(deciding_p(row)) for row in rows.itertuples()],
            "Pairs": [_whole(value) for value in rows["pairs"]],
            "Smallest effect": [_figures(value) for value in rows["detectable"]],
            "Seeds needed": [_whole(value) for value in rows["seeds_needed"]],
            "Reason": rows["reason"].where(rows["reason"] != "", ABSENT),
            "Shown in": rows["shows"].where(rows["shows"] != "", ABSENT),
        }
    ).reset_index(drop=True)


def deciding_p(row: object) -> float:
    """The adjusted p value behind the verdict in a row of the ledger.

    That of equivalence where it decided, and of a difference elsewhere.
    """
    near = row.expected.startswith(("near", "paper")) and row.verdict == HOLDS
    return row.p_equivalent_adjusted if near or row.verdict == EQUIVALENT else row.p_adjusted


def _measured(row: object) -> str:
    """Estimate, 95 % interval and unit; or in how many cases the claim is met."""
    if not pd.isna(row.cases):
        return f"met in {row.met:.0f} of {row.cases:.0f} cases"
    if pd.isna(row.estimate):
        return ABSENT
    unit = f" {row.unit}" if row.unit else ""
    half = (row.high - row.low) / 2
    if pd.isna(half) or not half:
        return f"{_figures(row.estimate)}{unit}"
    if row.infinite:
        return f"{_figures(row.estimate)} ({_figures(row.low)} to {_figures(row.high)}){unit}"
    decimals = max(0, 1 - math.floor(math.log10(half)))
    return f"{row.estimate:.{decimals}f} ± {half:.{decimals}f}{unit}".replace("-", "−", 1)


def _figures(value: float) -> str:
    """Three significant figures."""
    if pd.isna(value):
        return ABSENT
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.3g}".replace("-", "−")


def _p(value: float) -> str:
    if pd.isna(value):
        return ABSENT
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _whole(value: float) -> str:
    return ABSENT if pd.isna(value) else "> 10,000" if math.isinf(value) else f"{value:,.0f}"
