"""Fields: values that users give by name. They are declared, checked and explained here.

``number``, ``whole``, ``choice`` and ``file`` declare a field with its default; a default that is a
tuple declares a list of values. They declare the attributes of a frozen dataclass (those of a run,
or of a measurement), and the options of an entry of a registry: fields of a run for its own use.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ngo.common.files import check_readable
from ngo.common.registries import DECLARED, REGISTRIES
from verdicts.files import check_keys, read_mapping
from verdicts.registry import Registry, UserError, check, one_of, shown, unknown

LARGEST = 2**63 - 1  # the largest integer in a column of a table

C = TypeVar("C")


class Range(NamedTuple):
    """The numbers from ``low`` to ``high``, but for the end that is ``excluded``, if one is."""

    low: float
    high: float = math.inf
    excluded: float | None = None

    def __contains__(self, value: Any) -> bool:
        return self.low <= value <= self.high and value != self.excluded

    def __str__(self) -> str:
        low, high = (f"{x:,}" if isinstance(x, int) else f"{x:g}" for x in self[:2])
        if self.excluded == self.low:
            return f"above {low}" + ("" if self.high == math.inf else f", at most {high}")
        if self.high == math.inf:
            return f"{low} or more"
        return f"{low} or more, below {high}" if self.excluded == self.high else f"{low} to {high}"


def within(low: float, high: float) -> Range:
    """Numbers from ``low`` to ``high``."""
    return Range(low, high)


def at_least(low: float) -> Range:
    """Numbers that are at least ``low``."""
    return Range(low)


def above(low: float, high: float = math.inf) -> Range:
    """Numbers above ``low`` and at most ``high``."""
    return Range(low, high, excluded=low)


def below(low: float, high: float) -> Range:
    """Numbers that are at least ``low`` and below ``high``."""
    return Range(low, high, excluded=high)


@dataclasses.dataclass(frozen=True)
class Field:
    """The facts about a value before it is given."""

    #: int, float, str (a name), or Path: a file, whose path is text.
    kind: type
    help: str
    #: The allowed numbers.
    range: Range | None = None
    #: The registry of allowed names, for a value that is a name.
    names: Any = None
    default: object = None
    #: The fields whose choices use this one: ``u`` is used by random topologies only.
    owners: tuple[str, ...] = ()
    #: Whether the field is a list of such values.
    many: bool = False
    #: Whether a config need not state it.
    optional: bool = False


def number(help: str, default: float | tuple[float, ...] | None, range: Range, **more: Any) -> Any:
    """Declare a number; ``range`` is what ``within``, ``above``, ``at_least`` or ``below`` returns.

    ``more`` are other facts of a ``Field``.
    """
    return _declared(float, help, default, range=range, **more)


def whole(help: str, default: int | tuple[int, ...] | None, range: Range, **more: Any) -> Any:
    """Declare a whole number, as ``number`` does."""
    return _declared(int, help, default, range=range, **more)


def choice(
    help: str, default: str | tuple[str, ...] | None, names: Registry | None = None, **more: Any
) -> Any:
    """Declare a name of an entry in a registry, by default in that of the field's own name."""
    return _declared(str, help, default, names=names, **more)


def file(help: str) -> Any:
    """Declare the path of a file. Its content is part of a run's results version."""
    return _declared(Path, help, None)


def _declared(kind: type, help: str, default: object, **facts: Any) -> Any:
    field = Field(kind, help, default=default, many=isinstance(default, tuple), **facts)
    return dataclasses.field(default=default, metadata={"field": field})


def field_of(declaration: object) -> Field | None:
    """The field of what ``number``, ``whole``, ``choice`` or ``file`` returned; else None."""
    return declaration.metadata.get("field") if isinstance(declaration, dataclasses.Field) else None


@cache
def fields_of(cls: type) -> Mapping[str, Field]:
    """The fields that a class declares, by name, in order of declaration."""
    found = {attribute.name: field_of(attribute) for attribute in dataclasses.fields(cls)}
    return {name: _named(name, field) for name, field in found.items() if field}


def _named(name: str, field: Field) -> Field:
    alone = field.kind is str and field.names is None
    return dataclasses.replace(field, names=REGISTRIES[name]) if alone else field


def from_mapping(cls: type[C], entry: Mapping[str, object], key: str) -> C:
    """The ``cls`` with the values of ``entry``. A UserError names ``key`` and the first mistake."""
    known = fields_of(cls)
    check_keys(key, entry, known, [name for name, field in known.items() if not field.optional])
    values = {
        name: (_checked_list if known[name].many else checked)(f"{key}.{name}", value, known[name])
        for name, value in entry.items()
    }
    try:
        return cls(**values)
    except UserError as error:
        raise UserError(f"{key}.{error}") from None


def _checked_list(key: str, given: object, field: Field) -> tuple[object, ...]:
    right = isinstance(given, list) and (given or field.default == ())
    check(right, key, given, "it must be a list of one or more values")
    for k, item in enumerate(given):
        if item in given[:k]:
            raise UserError(f"{key}: {shown(given)} repeats {item!r}; each value may appear once.")
    return tuple(checked(f"{key}[{k}]", item, field) for k, item in enumerate(given))


def checked(key: str, value: object, field: Field) -> Any:
    """Return a ``value`` in the field's type; raise a UserError, under ``key``, if not allowed.

    For a field with ``many`` values, ``value`` is one of them.
    """
    if field.names is not None:
        if (told := elsewhere(value)) and value not in field.names:
            error = str(unknown(key, value, field.names))
            raise UserError(error.partition(" Did you mean")[0] + told)
        return one_of(key, value, field.names)
    if mistake := _mistake(value, field):
        hint = as_number(value, lambda number: not _mistake(number, field))
        absent = value is None and field.kind is Path
        said = "it is missing" if absent else f"{shown(value)} {mistake}"
        raise UserError(f"{key}: {said}; it must be {wanted(field)}.{hint}")
    if field.kind is Path:
        check_readable(str(value), key)
        return value
    return field.kind(value)


def _mistake(value: Any, field: Field) -> str:
    """The mistake in a value for a number or a file, in words; empty if there is none."""
    if field.kind is Path:
        return "" if isinstance(value, str) else "is not a path"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "is not a number"
    if isinstance(value, float) and not math.isfinite(value):
        return "is not finite"
    if abs(value) > LARGEST and int in (field.kind, type(value)):
        return "is too large (2^63 or more)"
    if field.kind is int and value != int(value):
        return "is not whole"
    return "" if field.range is None or value in field.range else "is out of range"


def wanted(field: Field) -> str:
    """The allowed values of the field, in words."""
    if field.names is not None:
        return f"one of {', '.join(sorted(field.names))}"
    kinds = {Path: "a file", int: f"a whole number, {field.range}"}
    return kinds.get(field.kind, f"a number, {field.range}")


def number_in(text: object, kind: type = int) -> Any:
    """The number that a text is, of this kind or else a float; other values themselves."""
    for parse in (kind, float) if isinstance(text, str) else ():
        with suppress(ValueError):
            return parse(text)
    return text


def as_number(value: object, allowed: Callable[[float], bool]) -> str:
    """A hint for a number that YAML reads as text, such as 1e-3.

    Empty for other values, and for a number that is not ``allowed``.
    """
    if (number := number_in(value)) is value:
        return ""
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
        number = int(number)
    text = repr(number)  # without a point, YAML would read 1e-05 as text again
    text = text if "." in text else text.replace("e", ".0e")
    return f" It was read as text: write {text}." if allowed(number) else ""


@cache
def words(kind: str) -> Mapping[str, Any]:
    """Words of other frameworks: ``usual`` ones by field, or what is ``elsewhere``, by the word."""
    given = read_mapping(Path(__file__).with_name("words.yaml"), "words")[kind]
    return {word: told for key, told in given.items() for word in key.split()}


def elsewhere(name: object) -> str:
    """A sentence about a word of other frameworks that no name here is like; else empty."""
    told = words("elsewhere").get(str(name).lower().replace("-", "_"))
    return f" {told} (docs/how_to/from_other_frameworks.md)." if told else ""


def usual(name: object, known: Collection[str]) -> list[str]:
    """The fields among the ``known`` that a usual word may mean."""
    word = str(name).lower().replace("-", "_")
    return [field for field, its in words("usual").items() if word in its and field in known]


def meant(name: object, known: Collection[str]) -> str:
    """`` Did you mean 'lr'?`` with what a word means, else the nearest few; may be empty."""
    near = usual(name, known) or difflib.get_close_matches(str(name).lower(), known)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return elsewhere(name) or hint


def unknown_field(key: str, name: object, known: Collection[str]) -> UserError:
    """The error for an unknown field of a run. The ``known`` are too many to list."""
    hint = meant(name, known)
    return UserError(f"{key}: {shown(name)} is unknown.{hint} `ngo fields` lists all.")


def brought(registry: Registry[Any], name: str) -> bool:
    """Whether an entry is the user's, not the package's."""
    return not registry.definitions.get(name, "ngo.").startswith("ngo.")


F = TypeVar("F", bound=Callable[..., Any])

#: The names of fields of a run.
Names = tuple[str, ...]

#: By the option's name: what ``fields.number``, ``whole``, ``choice`` or ``file`` returned.
Options = Mapping[str, Any]


def defaults() -> dict[str, object]:
    """The default of each option."""
    return {name: option.default for name, option in DECLARED.items()}


#: Names that no option may have, see ``reserve``.
RESERVED: set[str] = set()


def declare(
    kind: str, entry: str, options: Options | None, function: Callable[..., object]
) -> tuple[str, ...]:
    """Declare the options of an ``entry`` of the registry ``kind``, and return their names.

    The entry is a ``function``. Entries of one registry may declare the same option. A UserError if
    another option has the name.
    """
    for name, option in (options or {}).items():
        _check_name(name)
        known = DECLARED.beside(function)
        field, owner = field_of(option), f"{kind}:{entry}"
        if field is None or (field.kind is str and field.names is None):
            fault = "is not declared; use number, whole, choice or file"
            raise UserError(f"option: {name!r} of {entry!r} {fault}.")
        optional = field.optional or field.default is not None
        field = dataclasses.replace(field, owners=(kind,), optional=optional)
        if DECLARED.definitions.get(name) == owner:
            known.pop(name, None)  # as in a notebook's cell that is run twice
        if known.get(name) != field:
            DECLARED.add(name, field, function)
            DECLARED.definitions[name] = owner
    return tuple(options or ())


@dataclasses.dataclass(frozen=True)
class Entry:
    """An entry of a registry that is known by a function, or a class, and its options alone."""

    of: Any
    #: The options that it declares.
    fields: tuple[str, ...]


def registers(
    registry: Registry[Any],
    name: str,
    entry: Callable[..., object],
    options: Options | None = None,
    version: int = 1,
) -> Callable[[F], F]:
    """A decorator that registers ``entry(function, names of its options)`` under a name."""

    def register(function: F) -> F:
        fields = declare(registry.kind, name, options, function)
        registry.add(name, entry(function, fields), function, version)
        return function

    return register


def reserve(names: Iterable[str]) -> None:
    """Refuse options with these names: the package's own fields, arguments and attributes."""
    RESERVED.update(names)
    for name in DECLARED.known:
        _check_name(name)


def _check_name(name: str) -> None:
    if name in RESERVED:
        raise UserError(f"option: {name!r} is a name that the package uses; choose another name.")
    right = re.fullmatch("[a-z][a-z0-9_]*", name)
    check(right, "option", name, "use lower-case letters, digits and underscores")


# The largest product of options that together decide the memory of a measurement.
LARGEST_PRODUCT = 10_000_000


def limit_product(options: object, *names: str) -> None:
    """Raise a UserError if the product of these options is too large.

    A list counts with its largest value.
    """
    values = [getattr(options, name) for name in names]
    size = math.prod(max(value) if isinstance(value, tuple) else value for value in values)
    most = f"{' × '.join(names)} is {size:,}; it must be {LARGEST_PRODUCT:,} or less"
    check(size <= LARGEST_PRODUCT, names[-1], getattr(options, names[-1]), most)
