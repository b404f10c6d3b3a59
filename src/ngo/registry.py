"""Names of things (topologies, protocols, data sets, …) and the error of a user's mistake."""

import difflib
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


class UserError(Exception):
    """A mistake in what was asked for, told in a line: the key, the value, what is allowed."""


def shown(value: object) -> str:
    """A value as Python writes it, cut to fit a message."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a whole number of thousands of digits, for one
        return f"this {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}…"


def nearest(name: object, known: Iterable[str]) -> str:
    """`` Did you mean 'ring'?`` for the known name closest to ``name``; empty if none is close."""
    names = {str(each).lower(): each for each in known}
    close = difflib.get_close_matches(str(name).lower(), list(names), n=1, cutoff=0.5)
    return f" Did you mean {names[close[0]]!r}?" if close else ""


def unknown(key: str, name: object, known: Iterable[str]) -> UserError:
    """The error for a name that does not exist: what there is, and the nearest match."""
    known = sorted(known)
    return UserError(
        f"{key}: {shown(name)} is unknown; allowed: {', '.join(known)}.{nearest(name, known)}"
    )


class Registry(dict[str, T]):
    """A dictionary of named things whose look-up of an unknown name lists the known ones.

    ``kind`` is the config key under which a user names an entry (``topology``, ``dataset``, …).
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def __missing__(self, name: object) -> T:
        raise unknown(self.kind, name, self)

    def add(self, name: str, entry: T) -> T:
        """Register ``entry``; a name can be taken once."""
        if name in self:
            raise ValueError(f"{self.kind} {name!r} is registered already")
        self[name] = entry
        return entry


Decorator = Callable[[Callable], Callable]


def in_a_line(error: Exception) -> str:
    """The first line of what an error says, to be quoted; its type's name where it says nothing."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
