"""The form of a claim: a hash of what decides it.

That is all that its entry has when it is written out (``resolved``), with its gates, its plan and
the forms of the claims that it pools. Words that decide nothing do not count (``WORDS``), nor the
reason of a mark, but that there is one does. Numbers count by value: 1 is 1.0.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from typing import Any

from verdicts.claims.claim import MARKS, POOLED, alike
from verdicts.claims.resolved import Resolved

WORDS = ("place", "says", "kind", "unit", "shows")
"""Keys of a claim that do not decide it."""


def forms(entries: Resolved) -> dict[str, str]:
    """The form of each claim, by id, in 64 hexadecimal digits; entries need not be valid claims."""
    claims = {str(id): each for id, each in entries.claims.items() if isinstance(each, Mapping)}
    pooled = {id: each for id, each in claims.items() if each.get("quantity") == POOLED}
    found = {id: _form(each, entries) for id, each in claims.items() if id not in pooled}
    whole = dict(found)
    for id, each in pooled.items():
        given = each.get("with", {})
        named = _listed(given.get("claims", ()) if isinstance(given, Mapping) else ())
        members = {member: found[member] for name in named for member in alike(str(name), found)}
        whole[id] = _form({**each, "with": members}, entries)
    return {id: whole[id] for id in claims}


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _form(entry: Mapping[Any, object], entries: Resolved) -> str:
    content = {key: key in MARKS or value for key, value in entry.items() if key not in WORDS}
    if "gate" in entry:
        gates = {str(name): gate for name, gate in entries.gates.items()}
        content["gate"] = [_deciding(gates.get(str(name))) for name in _listed(entry["gate"])]
    plan = None if "universes" in entry else entries.looks  # over universes, there are no looks
    content["looks"] = entry.get("looks", plan)
    if content["looks"] is None:
        del content["looks"]
    return form_of(content)


def form_of(content: object) -> str:
    """The hash of values as YAML has them, in 64 hexadecimal digits."""
    text = json.dumps(_normal(content), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _deciding(gate: object) -> object:
    """A gate without the reason that is printed."""
    if not isinstance(gate, Mapping):
        return gate
    return {key: value for key, value in gate.items() if key != "else"}


def _normal(value: object) -> object:
    """A value as JSON has it, with keys as texts and numbers as floats."""
    if isinstance(value, Mapping):
        return {str(key): _normal(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_normal(each) for each in value]
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        return float(value) if abs(value) <= sys.float_info.max else hex(int(value))
    return str(value)
