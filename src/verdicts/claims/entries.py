"""Entries of a claims file, checked; each function raises a one-line UserError under ``key``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from verdicts.claims.claim import Claim, Gate
from verdicts.quantity_registry import QUANTITIES
from verdicts.registry import UserError, check, printable, unknown
from verdicts.rows.selection import Selection


def check_keys(
    key: str, values: Mapping[Any, object], known: Iterable[str], required: Iterable[str]
) -> None:
    """Raise a UserError for an unknown key, and for a required one that is missing."""
    for name in values:
        if name not in known:
            raise unknown(key, name, known)
    for name in required:
        if name not in values:
            raise UserError(f"{key}: {name!r} is missing.")


def one_of(key: str, value: Any, known: Iterable[str]) -> str:
    """A name that is one of the known ones."""
    if not isinstance(value, str) or value not in known:
        raise unknown(key, value, map(str, known))
    return value


def mapping(key: str, value: Any) -> Mapping[Any, object]:
    """A mapping."""
    check(isinstance(value, Mapping), key, value, "it must be a mapping")
    return value


def names(key: str, value: Any) -> tuple[str, ...]:
    """A name, or the names in a list."""
    found = value if isinstance(value, list) else [value]
    right = found and all(isinstance(name, str) for name in found)
    check(right, key, value, "it must be a name, or a list")
    return tuple(found)


def text(key: str, value: Any) -> str:
    """Text in one line, without control characters."""
    right = isinstance(value, str) and printable(value.strip()) == value.strip()
    check(right, key, value, "it must be text in one line")
    return value.strip()


def number(key: str, value: Any) -> float:
    """A finite number."""
    right = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    check(right, key, value, "it must be a number")
    return value


def boolean(key: str, value: Any) -> bool:
    """A boolean."""
    check(isinstance(value, bool), key, value, "it must be true or false")
    return value


def selections(key: str, entry: Claim | Gate) -> Iterator[tuple[str, Selection]]:
    """The arguments of a quantity that select rows, each with its place; a term has a weight too.

    ``key`` is the place of the claim or gate. Raises a UserError for an argument of another type.
    """
    kinds = QUANTITIES[str(entry.quantity)].kinds
    for name, value in entry.arguments.items():
        place = f"{key}.with.{name}"
        for each in value if isinstance(value, list) else [value]:
            if "Selection" in kinds[name] and each is not None:
                fields = mapping(place, each).items()
                yield place, {column: wanted for column, wanted in fields if column != "weight"}
