"""Entries of a claims file that are written once for several values of some names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from verdicts.registry import UserError, shown, unknown

FOR_EACH, ALL = "for_each", "all"

MOST = 10**7
"""Values and characters that a file may have with its entries written out."""


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
        if not isinstance(names, Mapping) or not names:
            raise UserError(f"{place}: {shown(names)} is not allowed; give NAME: [values].")
        lists = [self.listed(f"{place}.{name}", name, values) for name, values in names.items()]
        for values in product(*lists):
            yield {**chosen, **dict(zip(names, values, strict=True))}

    def listed(self, key: str, name: object, values: object) -> list[Any]:
        """The values of a name."""
        known = self.named.get(str(name), {})
        if known and values == ALL:
            return list(known)
        if not isinstance(values, list) or not values:
            raise UserError(f"{key}: {shown(values)} is not allowed; give a list of values.")
        for value in values if known else ():
            if not isinstance(value, str) or value not in known:
                raise unknown(key, value, map(str, known))
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
            alone = re.fullmatch(r"\{([\w.]+)\}", value)
            if alone:
                value = self.value(key, alone[1], chosen)
            else:
                value = re.sub(
                    r"\{([\w.]+)\}", lambda found: str(self.value(key, found[1], chosen)), value
                )
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
