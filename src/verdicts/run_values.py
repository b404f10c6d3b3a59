"""The numbers of runs, and their registry."""

from verdicts.rows.evaluations import (
    SHARE,
    UNITS,
    VALUES,
    RunValue,
    at_the_end,
    final,
    parsed,
    per_run,
    since_the_row_before,
)

__all__ = [
    "SHARE",
    "UNITS",
    "VALUES",
    "RunValue",
    "at_the_end",
    "final",
    "parsed",
    "per_run",
    "since_the_row_before",
]
