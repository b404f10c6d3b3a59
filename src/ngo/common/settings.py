"""Settings of its own that a registry's entry declares: fields of a run, beside the package's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ngo.common.fields import Field
from ngo.common.registry import Registry, UserError


@dataclass(frozen=True)
class Setting:
    """A field of a run that has a meaning with one entry only, and its default."""

    field: Field
    default: object
    #: The setting as it was declared.
    origin: Setting | None = None


def number(help: str, default: float, range: Mapping[str, object]) -> Setting:
    """A setting that is a number; ``range`` is one of ``fields`` (``within(0, 1)``, …)."""
    return Setting(Field(float, help, **range), default)


def whole(help: str, default: int, range: Mapping[str, object]) -> Setting:
    """A setting that is a whole number."""
    return Setting(Field(int, help, **range), default)


def file(help: str) -> Setting:
    """A setting that names a file; its contents decide a run's code fingerprint too."""
    return Setting(Field(Path, help), None)


#: All that registered entries have declared, by the name of the field.
DECLARED: Registry[Setting] = Registry("field of a run")


# Names that no setting may have, see ``reserve``.
_reserved: set[str] = set()


def declare(kind: str, entry: str, settings: Mapping[str, Setting]) -> tuple[str, ...]:
    """Declare the settings of an ``entry`` of the registry ``kind``; their names.

    Entries of one registry may share a setting: the same object. A UserError if a name is taken by
    another one.
    """
    for name, setting in settings.items():
        _check_name(name)
        owner = f"{kind}:{entry}"
        known = DECLARED.get(name)
        again = known is not None and DECLARED.definitions[name] == owner
        shared = known is not None and known.origin is setting and known.field.owners == (kind,)
        if shared and not again:
            continue
        if again:
            del DECLARED[name]  # as in a notebook's cell that is run twice
        field = replace(setting.field, owners=(kind,))
        DECLARED.add(name, replace(setting, field=field, origin=setting))
        DECLARED.definitions[name] = owner
    return tuple(settings)


def reserve(names: Iterable[str]) -> None:
    """Refuse settings with these names: the package's own fields, options and attributes."""
    _reserved.update(names)
    for name in DECLARED:
        _check_name(name)


def _check_name(name: str) -> None:
    if name in _reserved:
        raise UserError(f"setting: {name!r} is a name of the package's own; choose another name.")
    if not re.fullmatch("[a-z][a-z0-9_]*", name):
        raise UserError(
            f"setting: {name!r} is not allowed; use lower-case letters, digits and underscores."
        )
