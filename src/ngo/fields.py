"""A value that a user gives: how it is checked, and explained in a line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ngo.registry import Registry, UserError, shown, unknown

LARGEST = 2**63 - 1  # of the whole numbers that a table's column holds


@dataclass(frozen=True)
class Field:
    """How a field of a run, or another value, is checked and explained.

    ``kind`` is its type; ``names`` the registry its value comes from; ``allowed(value)`` its
    range, which ``range`` puts into words; ``owner`` the field whose choice gives it a meaning
    (``u`` means something for a random topology only; elsewhere it is None).
    """

    kind: type
    help: str
    names: Registry | None = None
    allowed: Callable[[float], bool] | None = None
    range: str = ""
    owners: tuple[str, ...] = ()


def within(low: float, high: float) -> dict[str, object]:
    """``allowed`` and ``range`` of numbers from ``low`` to ``high``."""
    words = f"{_short(low)} to {_short(high)}"
    return {"allowed": lambda value: low <= value <= high, "range": words}


def at_least(low: float) -> dict[str, object]:
    """``allowed`` and ``range`` of numbers from ``low`` on."""
    return {"allowed": lambda value: value >= low, "range": f"{_short(low)} or more"}


def above(low: float, high: float = math.inf) -> dict[str, object]:
    """``allowed`` and ``range`` of numbers above ``low``, up to ``high`` where there is one."""
    end = "" if high == math.inf else f", at most {_short(high)}"
    return {"allowed": lambda value: low < value <= high, "range": f"above {_short(low)}{end}"}


def below(low: float, high: float) -> dict[str, object]:
    """``allowed`` and ``range`` of numbers from ``low`` on that are below ``high``."""
    return {
        "allowed": lambda value: low <= value < high,
        "range": f"{_short(low)} or more, below {_short(high)}",
    }


def checked(key: str, value: object, field: Field) -> object:
    """``value`` as the field's own type, if it is allowed there; a UserError, under ``key``, if
    not.
    """
    if field.names is not None:
        if not isinstance(value, str) or value not in field.names:
            raise unknown(key, value, field.names)
        return value
    must = f"it must be {wanted(field)}"
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
    """What a value of the field must be, in words."""
    if field.names is not None:
        return f"one of {', '.join(sorted(field.names))}"
    return f"{'a whole number' if field.kind is int else 'a number'}, {field.range}"


def as_number(value: object) -> str:
    """A hint for numbers that YAML reads as text, such as 1e-3; empty for all else."""
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        number = math.nan
    return f" It was read as text: write {number!r}." if math.isfinite(number) else ""


def _short(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
