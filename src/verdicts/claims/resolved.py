"""The entries of a claims file written out: defaults, ``for_each`` and printed numbers in place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from verdicts.claims.entries import mapping, one_of
from verdicts.claims.printed import PrintedNumbers
from verdicts.registry import UserError, check, shown

FOR_EACH, ALL = "for_each", "all"

MOST = 10**7
"""Values and characters that a file may have with its entries written out."""


@dataclass(frozen=True)
class Resolved:
    """The entries of a file, by name; what they contain is not checked."""

    claims: Mapping[object, object]
    gates: Mapping[object, object]
    #: The plan of claims that name none.
    looks: object
    #: The files with printed numbers that claims name.
    printed: tuple[Path, ...]


def resolved(content: Mapping[Any, object], folder: Path) -> Resolved:
    """The entries in the ``content`` of a file; ``folder`` has the printed numbers.

    Raises a one-line UserError for a mistake in what is written out.
    """
    names = ("values", "defaults", "gates", "claims")
    values, defaults, given, short = (mapping(name, content.get(name, {})) for name in names)
    named = {
        name: {
            value: mapping(f"values.{name}.{value}", entry)
            for value, entry in mapping(f"values.{name}", each).items()
        }
        for name, each in values.items()
    }
    gates = expanded("gates", given, named)
    short = _with_defaults(short, defaults)
    printed = PrintedNumbers(folder)
    claims = {
        name: printed.numbers(f"claims.{name}", entry)
        for name, entry in expanded("claims", short, named).items()
    }
    return Resolved(claims, gates, content.get("looks"), tuple(sorted(printed.files)))


def _with_defaults(
    claims: Mapping[Any, object], defaults: Mapping[Any, object]
) -> dict[object, object]:
    """The claims, each with what it does not give from the defaults that it names."""
    found = dict(claims)
    for name, entry in claims.items():
        if isinstance(entry, Mapping) and "defaults" in entry:
            chosen = one_of(f"claims.{name}.defaults", entry["defaults"], defaults)
            own = {key: value for key, value in entry.items() if key != "defaults"}
            found[name] = {**mapping(f"defaults.{chosen}", defaults[chosen]), **own}
    return found


def expanded(
    section: str,
    entries: Mapping[object, object],
    named: Mapping[str, Mapping[str, Mapping[str, object]]] | None = None,
) -> dict[object, object]:
    """The entries of a section, those with ``for_each`` once for each combination of its values.

    ``for_each: {data: [mnist, digits]}`` puts ``mnist`` and then ``digits`` in place of ``{data}``
    in the id and in all texts of the entry. A text that is ``{data}`` alone becomes the value
    itself, so a number stays one. A value may be a mapping: ``{data.label}`` is its entry.
    ``named`` has the mappings of some names by value; ``{data: all}`` is all of its values.
    Entries inside an entry (a claim's cells) may have a ``for_each`` too. Raises a UserError for a
    name without a value, and for two entries with one id.
    """
    return _Writer(named or {}).mapping(section, entries, {})


#: The value of each name in scope.
Chosen = Mapping[Any, Any]


class _Writer:
    def __init__(self, named: Mapping[str, Mapping[str, Mapping[str, object]]]) -> None:
        self.named = named
        self.written = 0

    def mapping(
        self, key: str, entries: Mapping[Any, object], chosen: Chosen
    ) -> dict[object, object]:
        """The entries with the values of ``chosen`` and of their own names."""
        found: dict[object, object] = {}
        for name, entry in entries.items():
            place = f"{key}.{name}"
            for values in self.choices(place, entry, chosen):
                identifier = self.filled(place, name, values)
                if isinstance(identifier, Mapping | list):
                    raise UserError(f"{place}: {shown(identifier)} is not allowed as an id.")
                if identifier in found:
                    needed = sorted(f"{{{each}}}" for each in values.keys() - chosen.keys())
                    hint = f"; it needs {', '.join(needed)}" if needed else ""
                    raise UserError(f"{key}: the id {shown(identifier)} occurs twice{hint}.")
                found[identifier] = self.filled(place, entry, values)
        return found

    def choices(self, key: str, entry: object, chosen: Chosen) -> Iterator[Chosen]:
        """The values of all names in scope, for each combination of the entry's own."""
        if not isinstance(entry, Mapping) or FOR_EACH not in entry:
            yield chosen
            return
        place, names = f"{key}.{FOR_EACH}", entry[FOR_EACH]
        check(isinstance(names, Mapping) and names, place, names, "give NAME: [values]")
        lists = [self.listed(f"{place}.{name}", name, values) for name, values in names.items()]
        for values in product(*lists):
            yield {**chosen, **dict(zip(names, values, strict=True))}

    def listed(self, key: str, name: object, values: Any) -> list[Any]:
        """The values of a name."""
        known = self.named.get(str(name), {})
        if known and values == ALL:
            return list(known)
        check(isinstance(values, list) and values, key, values, "give a list of values")
        for value in values if known else ():
            one_of(key, value, known)
        return values

    def filled(self, key: str, value: object, chosen: Chosen) -> object:
        """A value with all names replaced."""
        self.written += 1
        if isinstance(value, Mapping):
            rest = {name: each for name, each in value.items() if name != FOR_EACH}
            value = self.mapping(key, rest, chosen)
        elif isinstance(value, list):
            value = [self.filled(key, each, chosen) for each in value]
        elif isinstance(value, str) and chosen:
            if alone := re.fullmatch(NAMED, value):
                value = self.value(key, alone[1], chosen)
            else:
                value = re.sub(NAMED, lambda each: str(self.value(key, each[1], chosen)), value)
                self.written += len(value)
        if self.written > MOST:
            raise UserError(f"{key}: {FOR_EACH} writes out more than {MOST:,} values.")
        return value

    def value(self, key: str, path: str, chosen: Chosen) -> object:
        """The value of a name, or of an entry of it (``data.label``)."""
        name, *parts = path.split(".")
        value: object = chosen.get(name)
        if parts and name in chosen and name in self.named:
            value = self.named[name][chosen[name]]
        for part in parts:
            value = value[part] if isinstance(value, Mapping) and part in value else _NONE
        if name not in chosen or value is _NONE:
            raise UserError(f"{key}: {{{path}}} has no value in {FOR_EACH}.")
        return value


_NONE = object()

NAMED = r"\{([\w.]+)\}"
