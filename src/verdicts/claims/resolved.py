"""The entries of a claims file written out: defaults, ``for_each`` and printed numbers in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verdicts.claims.entries import mapping, one_of
from verdicts.claims.for_each import expanded
from verdicts.claims.printed import PrintedNumbers


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
    sections = {
        name: mapping(name, content.get(name, {}))
        for name in ("values", "defaults", "gates", "claims")
    }
    named = {
        name: {
            value: mapping(f"values.{name}.{value}", entry)
            for value, entry in mapping(f"values.{name}", values).items()
        }
        for name, values in sections["values"].items()
    }
    gates = expanded("gates", sections["gates"], named)
    short = _with_defaults(sections["claims"], sections["defaults"])
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
