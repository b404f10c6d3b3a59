"""Traces: CSV files of what changes at which virtual time."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping
from typing import Any

from ngo.common.paths import check_readable
from ngo.common.registry import UserError, in_a_line, shown

# The largest file, in bytes.
LARGEST = 1 << 26

Read = Callable[[str], Any]


def read_trace(path: str, key: str, columns: Mapping[str, Read]) -> list[tuple[Any, ...]]:
    """The rows of a CSV file with these columns, in order; the first is the time.

    ``columns`` has the function that reads each value. A one-line UserError, under ``key``, for a
    file that is anything else.
    """
    check_readable(path, key, LARGEST)
    found: list[tuple[Any, ...]] = []
    try:
        with open(path, encoding="utf-8", newline="") as file:
            lines = csv.reader(file)
            if (head := next(lines, [])) != list(columns):
                raise UserError(
                    f"{key}: {path!r} begins with {shown(','.join(head))}; its first line must be "
                    f"{','.join(columns)}."
                )
            for line in filter(None, lines):
                if len(line) != len(columns):
                    raise ValueError(f"{len(line)} values, where {len(columns)} are needed")
                row = tuple(read(text) for read, text in zip(columns.values(), line, strict=True))
                if found and row[0] < found[-1][0]:
                    raise ValueError("its time is before that of the row before")
                found.append(row)
    except (ValueError, csv.Error) as error:
        raise UserError(f"{key}: {path!r}, row {len(found) + 1}: {in_a_line(error)}.") from None
    return found


def from_zero(text: str) -> float:
    """A number that is 0 or more."""
    value = float(text)
    if not 0 <= value < math.inf:
        raise ValueError(f"{text} is not 0 or more, and finite")
    return value


def above_zero(text: str) -> float:
    """A number above 0."""
    if (value := from_zero(text)) == 0:
        raise ValueError("0 is not above 0")
    return value


def worker_of(n: int) -> Read:
    """A reader of the numbers of n workers."""

    def read(text: str) -> int:
        if not 0 <= (worker := int(text)) < n:
            raise ValueError(f"worker {worker} is not one of 0 to {n - 1}")
        return worker

    return read
