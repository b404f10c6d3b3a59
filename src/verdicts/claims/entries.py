"""Entries of a claims file, checked; each function raises a one-line UserError under ``key``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from verdicts.registry import UserError, printable, shown, unknown


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


def one_of(key: str, value: object, known: Iterable[str]) -> str:
    """A name that is one of the known ones."""
    if not isinstance(value, str) or value not in known:
        raise unknown(key, value, map(str, known))
    return value


def mapping(key: str, value: object) -> Mapping[Any, object]:
    """A mapping."""
    if not isinstance(value, Mapping):
        raise UserError(f"{key}: {shown(value)} is not allowed; it must be a mapping.")
    return value


def names(key: str, value: object) -> tuple[str, ...]:
    """A name, or the names in a list."""
    found = value if isinstance(value, list) else [value]
    if not found or not all(isinstance(name, str) for name in found):
        raise UserError(f"{key}: {shown(value)} is not allowed; it must be a name, or a list.")
    return tuple(found)


def text(key: str, value: object) -> str:
    """Text in one line, without control characters."""
    if not isinstance(value, str) or printable(value.strip()) != value.strip():
        raise UserError(f"{key}: {shown(value)} is not allowed; it must be text in one line.")
    return value.strip()


def number(key: str, value: object) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UserError(f"{key}: {shown(value)} is not allowed; it must be a number.")
    return value


def boolean(key: str, value: object) -> bool:
    """A boolean."""
    if not isinstance(value, bool):
        raise UserError(f"{key}: {shown(value)} is not allowed; it must be true or false.")
    return value
