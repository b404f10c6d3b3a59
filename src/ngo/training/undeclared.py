"""The errors of a method that uses fields of a run which it has not declared."""

from __future__ import annotations

from typing import Any

from ngo.common.registry import UserError
from ngo.gossip.method import GOSSIP_FIELDS
from ngo.training.spec import FIELDS, RunSpec


class DeclaredFields:
    """A run as its method sees it: reading a field without a meaning for it is a UserError."""

    def __init__(self, spec: RunSpec) -> None:
        self._spec = spec

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._spec, name)
        if value is None and name in FIELDS:
            raise undeclared(self._spec, name)
        return value


class Undeclared:
    """In the place of an object that the method has not declared: any use raises ``error``."""

    def __init__(self, error: UserError, known: object = None, *allowed: str) -> None:
        """``allowed`` are the attributes that may be read: they come from ``known``."""
        self._error = error
        self._known = known
        self._allowed = allowed

    def __getattr__(self, name: str) -> object:
        if name not in self._allowed:
            raise self._error
        return getattr(self._known, name)


def undeclared(spec: RunSpec, name: str) -> UserError:
    """The error for a method that reads the field ``name`` of a run and does not declare it."""
    owner = next((key for key in FIELDS[name].owners if key != "method"), "method")
    if name in GOSSIP_FIELDS or getattr(spec, owner) is None:
        owner = "method"
    also = f"; step.gossip() reads {', '.join(GOSSIP_FIELDS)}" if name in GOSSIP_FIELDS else ""
    return UserError(
        f"{owner}: {getattr(spec, owner)!r} uses the field {name!r} of a run and does not declare "
        f"it; add {name!r} to fields=(…) where it is registered{also}."
    )
