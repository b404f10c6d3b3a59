"""Checks of values from users, with one-line explanations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ngo.common.paths import check_readable
from ngo.common.registry import Registry, UserError, shown, unknown

LARGEST = 2**63 - 1  # the largest integer in a column of a table


@dataclass(frozen=True)
class Field:
    """How a value, for example of a run's field, is checked and explained."""

    #: int, float, str (a name), or Path: a file, whose path is text.
    kind: type
    help: str

    # The registry of allowed names, for a value that is a name.
    names: Registry | None = None

    # Whether a number is in the allowed range, and the range in words.
    allowed: Callable[[float], bool] | None = None
    range: str = ""

    # The fields whose choices use this one: u is used by random topologies, and None for others.
    owners: tuple[str, ...] = ()
    #: The range in the words of JSON Schema: ``minimum``, ``exclusiveMaximum``, …
    bounds: Mapping[str, float] | None = None

    @property
    def schema(self) -> dict[str, object]:
        """The JSON Schema of one value.

        Names of a registry are any text there: plugins add names that a written schema cannot list.
        """
        if self.names is not None or self.kind is Path:
            return {"title": self.help, "type": "string"}
        kind = "integer" if self.kind is int else "number"
        return {
            "title": self.help,
            "type": kind,
            **(self.bounds or {}),
            "description": wanted(self),
        }


def within(low: float, high: float) -> dict[str, object]:
    """``allowed`` and ``range`` of numbers from ``low`` to ``high``."""
    return {
        "allowed": lambda value: low <= value <= high,
        "range": f"{_short(low)} to {_short(high)}",
        "bounds": {"minimum": low, "maximum": high},
    }


def at_least(low: float) -> dict[str, object]:
    """``allowed`` and ``range`` of numbers that are at least ``low``."""
    return {
        "allowed": lambda value: value >= low,
        "range": f"{_short(low)} or more",
        "bounds": {"minimum": low},
    }


def above(low: float, high: float = math.inf) -> dict[str, object]:
    """``allowed`` and ``range`` of numbers above ``low`` and at most ``high``."""
    end = "" if high == math.inf else f", at most {_short(high)}"
    return {
        "allowed": lambda value: low < value <= high,
        "range": f"above {_short(low)}{end}",
        "bounds": {"exclusiveMinimum": low, **({} if high == math.inf else {"maximum": high})},
    }


def below(low: float, high: float) -> dict[str, object]:
    """``allowed`` and ``range`` of numbers that are at least ``low`` and below ``high``."""
    return {
        "allowed": lambda value: low <= value < high,
        "range": f"{_short(low)} or more, below {_short(high)}",
        "bounds": {"minimum": low, "exclusiveMaximum": high},
    }


def checked(key: str, value: object, field: Field) -> object:
    """Return ``value`` in the field's type; raise a UserError, under ``key``, if not allowed."""
    if field.names is not None:
        if not isinstance(value, str) or value not in field.names:
            raise unknown(key, value, field.names)
        return value
    must = f"it must be {wanted(field)}"
    if field.kind is Path:
        if not isinstance(value, str):
            raise UserError(f"{key}: {shown(value)} is not a path; {must}.")
        check_readable(value, key)
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"{key}: {shown(value)} is not a number; {must}.{as_number(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{key}: {value!r} is not finite; {must}.")
    if abs(value) > LARGEST and int in (field.kind, type(value)):
        raise UserError(f"{key}: {shown(value)} is too large; {must}, and below 2^63.")
    if field.kind is int and value != int(value):
        raise UserError(f"{key}: {value!r} is not whole; {must}.")
    if not field.allowed(value):
        raise UserError(f"{key}: {value!r} is out of range; {must}.")
    return field.kind(value)


def wanted(field: Field) -> str:
    """The allowed values of the field, in words."""
    if field.names is not None:
        return f"one of {', '.join(sorted(field.names))}"
    if field.kind is Path:
        return "a file"
    return f"{'a whole number' if field.kind is int else 'a number'}, {field.range}"


def as_number(value: object) -> str:
    """A hint for a number that YAML reads as text, such as 1e-3; empty for other values."""
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        number = math.nan
    return f" It was read as text: write {number!r}." if math.isfinite(number) else ""


def _short(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
