"""Options: fields of a run that an entry of a registry declares for its own use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from ngo.common.fields import Field, field_of
from ngo.common.registry import Registry, UserError

P = ParamSpec("P")
R = TypeVar("R")

#: By the option's name: what ``fields.number``, ``whole``, ``choice`` or ``file`` returned.
Options = Mapping[str, Any]

#: The options of all registered entries.
DECLARED: Registry[Field] = Registry("field of a run")

# Names that no option may have, see ``reserve``.
_reserved: set[str] = set()


def declare(kind: str, entry: str, options: Options | None) -> tuple[str, ...]:
    """Declare the options of an ``entry`` of the registry ``kind``, and return their names.

    Entries of one registry may declare the same option. A UserError if another option has the name.
    """
    for name, option in (options or {}).items():
        _check_name(name)
        field, owner = field_of(option), f"{kind}:{entry}"
        if field is None:
            raise UserError(
                f"option: {name!r} of {entry!r} is not declared; use number, whole, choice or file."
            )
        optional = field.optional or field.default is not None
        field = replace(field, owners=(kind,), optional=optional)
        if DECLARED.definitions.get(name) == owner:
            DECLARED.pop(name, None)  # as in a notebook's cell that is run twice
        if DECLARED.get(name) != field:
            DECLARED.add(name, field)
            DECLARED.definitions[name] = owner
    return tuple(options or ())


def reserve(names: Iterable[str]) -> None:
    """Refuse options with these names: the package's own fields, arguments and attributes."""
    _reserved.update(names)
    for name in DECLARED:
        _check_name(name)


def _check_name(name: str) -> None:
    if name in _reserved:
        raise UserError(f"option: {name!r} is a name that the package uses; choose another name.")
    if not re.fullmatch("[a-z][a-z0-9_]*", name):
        raise UserError(
            f"option: {name!r} is not allowed; use lower-case letters, digits and underscores."
        )
