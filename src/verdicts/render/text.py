"""Verdicts as plain text, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from verdicts.counts import counted, counts, registered
from verdicts.row import ABSENT, Row

WIDTH = 11
"""Of the column with the verdict."""


def as_text(rows: Sequence[Row]) -> str:
    """Two lines for each claim or cell, and the counts."""
    told = filter(None, [counted(counts(rows)), registered(rows)])
    return "\n".join([*(_lines(row) for row in rows), "", *told]) + "\n"


def details(row: Row) -> list[str]:
    """What was found: the measured value, what was expected, the interval, the seeds."""
    found = [row.also.removeprefix(", ")] if row.also else []
    found += [] if row.measured == ABSENT else [row.measured]
    found += [f"expected {row.expectation}"] if row.expectation else []
    found += [f"95 % interval {row.interval}"] if row.interval != ABSENT else []
    return found + ([row.seeds] if row.seeds else [])


def _lines(row: Row) -> str:
    what = f"  {row.claim} / {row.cell}" if row.cell else f"{row.claim}: {row.statement}"
    look = f"the next planned look takes {row.next_look} seeds" if row.next_look else ""
    told = [*details(row), *filter(None, (row.why, look, row.registration))]
    first = f"{row.verdict:<{WIDTH}}{what}"
    return "\n".join([first, " " * WIDTH + "  " + "; ".join(told)] if told else [first])
