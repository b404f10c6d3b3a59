"""One entry of a claims file for several claims, one for each value of some names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product

from verdicts.registry import UserError, shown

FOR_EACH = "for_each"

MOST = 1000
"""Claims of one entry."""


def expanded(entries: Mapping[object, object]) -> dict[object, object]:
    """The entries, those with ``for_each`` once for each combination of its values.

    ``for_each: {data: [mnist, digits]}`` puts ``mnist`` and then ``digits`` in place of ``{data}``
    in the id and in all texts of the entry. A text that is ``{data}`` alone becomes the value
    itself, so a number stays one. A value may be a mapping: ``{data.label}`` is its entry. Raises a
    UserError for a name without a value, and for two claims with one id.
    """
    found: dict[object, object] = {}
    for name, entry in entries.items():
        if not isinstance(entry, Mapping) or FOR_EACH not in entry:
            added = {name: entry}
        else:
            added = _each(f"claims.{name}", name, dict(entry))
        for identifier, claim in added.items():
            if identifier in found:
                raise UserError(f"claims: the id {shown(identifier)} occurs twice.")
            found[identifier] = claim
    return found


def _each(key: str, name: object, entry: dict[object, object]) -> dict[object, object]:
    names = entry.pop(FOR_EACH)
    if not isinstance(names, Mapping) or not names:
        raise UserError(f"{key}.{FOR_EACH}: {shown(names)} is not allowed; give NAME: [values].")
    count = 1
    for each, values in names.items():
        if not isinstance(values, list) or not values:
            raise UserError(
                f"{key}.{FOR_EACH}.{each}: {shown(values)} is not allowed; give a list of values."
            )
        count *= len(values)
    if count > MOST:
        raise UserError(f"{key}.{FOR_EACH}: {count} claims; at most {MOST}.")
    found: dict[object, object] = {}
    for values in product(*names.values()):
        chosen = dict(zip(names, values, strict=True))
        identifier = _filled(key, name, chosen)
        if identifier in found:
            raise UserError(f"{key}: the id needs {{{'}, {'.join(map(str, names))}}}.")
        found[identifier] = {each: _filled(key, value, chosen) for each, value in entry.items()}
    return found


def _filled(key: str, value: object, chosen: Mapping[str, object]) -> object:
    if isinstance(value, Mapping):
        return {_filled(key, k, chosen): _filled(key, each, chosen) for k, each in value.items()}
    if isinstance(value, list):
        return [_filled(key, each, chosen) for each in value]
    if not isinstance(value, str):
        return value
    alone = re.fullmatch(r"\{([\w.]+)\}", value)
    if alone:
        return _value(key, alone[1], chosen)
    return re.sub(r"\{([\w.]+)\}", lambda found: str(_value(key, found[1], chosen)), value)


def _value(key: str, path: str, chosen: Mapping[str, object]) -> object:
    value: object = chosen
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise UserError(f"{key}: {{{path}}} has no value in {FOR_EACH}.")
        value = value[part]
    return value
