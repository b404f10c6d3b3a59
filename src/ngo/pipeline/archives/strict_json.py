"""Reading JSON of strangers: every fault and every value out of bounds is a ValueError."""

from __future__ import annotations

import json
import math
from typing import NoReturn

from ngo.pipeline.archives.limits import DEPTH


def parsed(text: str | bytes) -> object:
    """The value of a JSON text.

    Raises a ValueError for what is no JSON, for more than ``DEPTH`` levels, for numbers that are
    not finite or do not fit in 64 bits, and for text that is not Unicode.
    """
    try:
        value = json.loads(
            text, parse_constant=_refuse, parse_float=_finite, parse_int=_short_integer
        )
    except RecursionError:
        raise ValueError(f"it has more than {DEPTH} levels") from None
    _check(value)
    return value


def _check(value: object) -> None:
    waiting = [(value, 1)]
    while waiting:
        each, level = waiting.pop()
        if isinstance(each, str):
            each.encode()  # half of a surrogate pair is no text: a ValueError
        elif isinstance(each, dict | list):
            if level > DEPTH:
                raise ValueError(f"it has more than {DEPTH} levels")
            parts = [*each.keys(), *each.values()] if isinstance(each, dict) else each
            waiting += [(part, level + 1) for part in parts]


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text[:40]} is not a finite number of 64 bits")


def _finite(text: str) -> float:
    return value if math.isfinite(value := float(text)) else _refuse(text)


def _short_integer(text: str) -> int:
    value = int(text) if len(text) <= 20 else 2**63
    return value if abs(value) < 2**63 else _refuse(text)
