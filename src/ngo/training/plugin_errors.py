"""Errors in the code of a user's entries, as mistakes of one line that name the entry."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from ngo.gossip.method import GOSSIP_FIELDS
from ngo.training.spec import FIELDS, RunSpec, own_entries
from verdicts.registry import UserError, in_a_line


@contextmanager
def named_in_errors(spec: RunSpec) -> Iterator[None]:
    """Turn an error in the code of a user's entry that the run names into a UserError of one line.

    It names the entry, the file and the line. So it does for a ``sys.exit``, which would end the
    command as if it had done its work. Other errors, and a lack of memory, are raised as they are.
    """
    try:
        yield
    except (UserError, MemoryError, torch.OutOfMemoryError):
        raise
    except (Exception, SystemExit) as error:
        own = own_entries(spec)
        for frame, line in reversed([*traceback.walk_tb(error.__traceback__)]):
            code = frame.f_code
            for key, (module, function) in own.items():
                inside = f"{code.co_qualname}.".startswith(f"{function}.")
                if inside and frame.f_globals.get("__name__") == module:
                    place = f"{Path(code.co_filename).name}, line {line}"
                    what = f"{key} {getattr(spec, key)!r} ({place}): {type(error).__name__}"
                    raise UserError(f"{what}: {in_a_line(error)}.") from error
        raise


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
    """Stands for an object that a method has not declared: any use of it raises ``error``."""

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
