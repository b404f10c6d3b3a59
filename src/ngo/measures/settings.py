"""Settings of a measurement: a frozen dataclass whose fields are declared with ``setting``.

The annotation of a field is its type: ``int``, ``float`` or ``str``, and ``tuple[float, ...]`` for
a list in a config and a repeatable option on the command line. Cross-field checks belong in
``__post_init__``, where a UserError begins with the name of a field.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import prod

from ngo.common.fields import Field
from ngo.common.registry import Registry, UserError

# The largest product of settings that together decide the memory of a measurement.
LARGEST_PRODUCT = 10_000_000


@dataclass(frozen=True)
class Setting:
    """A field of a settings class."""

    #: Type, help and range of one value.
    field: Field
    default: object
    #: Whether the setting is a list.
    many: bool
    #: Whether a config must state the setting.
    required: bool

    @property
    def shown_default(self) -> str:
        """The default as text; the values of a list are separated by commas."""
        return ", ".join(map(str, self.default if self.many else (self.default,)))


def setting(
    help: str,
    default: object,
    *,
    names: Registry | None = None,
    required: bool = True,
    **range: object,
) -> typing.Any:
    """Declare a field of a settings class.

    ``names`` is the registry that a name comes from: text needs it. ``range`` is the range of a
    number, which needs it: what ``fields.within``, ``above``, ``at_least`` or ``below`` returns.
    """
    facts = {"help": help, "names": names, **range}
    return dataclasses.field(default=default, metadata={"field": facts, "required": required})


@cache
def settings_of(cls: type) -> Mapping[str, Setting]:
    """The settings of a settings class, by name, in order of declaration.

    Raises a UserError for a setting whose allowed values are not declared.
    """
    types = typing.get_type_hints(cls)
    found = {}
    for field in dataclasses.fields(cls):
        many = typing.get_origin(types[field.name]) is tuple
        kind = typing.get_args(types[field.name])[0] if many else types[field.name]
        facts = Field(kind, **field.metadata["field"])
        _check_declared(field.name, facts)
        found[field.name] = Setting(facts, field.default, many, field.metadata["required"])
    return found


def _check_declared(name: str, field: Field) -> None:
    if field.kind is str and field.names is None:
        raise UserError(
            f"setting: {name!r} is text and has no names; name the registry of its values: "
            f"setting(…, names=TOPOLOGIES), for example."
        )
    if field.kind in (int, float) and field.allowed is None:
        raise UserError(
            f"setting: {name!r} is a number and has no range; add one: setting(…, **at_least(0)), "
            f"for example."
        )
    if field.kind not in (int, float, str):
        raise UserError(
            f"setting: {name!r} has the annotation {field.kind!r}, which is not allowed; use int, "
            f"float or str, or tuple[…, ...] of one of them."
        )


def limit_product(settings: object, *names: str) -> None:
    """Raise a UserError if the product of these settings is too large.

    A list counts with its largest value.
    """
    values = [getattr(settings, name) for name in names]
    size = prod(max(value) if isinstance(value, tuple) else value for value in values)
    if size > LARGEST_PRODUCT:
        raise UserError(
            f"{names[-1]}: {' × '.join(names)} is {size:,}; it must be {LARGEST_PRODUCT:,} or less."
        )
