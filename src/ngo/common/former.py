"""Former names of a run's fields, in older configs, claims, commands and results.

Code that reads such a file or word converts it with this module. All written files have the present
names.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdicts.claims.claim import ClaimsFile

#: The present name of a field by its former one.
FORMER = {"protocol": "method"}

_told: set[tuple[str, str]] = set()


def present(name: str, place: str | None = None) -> str:
    """The present name of a field. With a ``place``, a line says once that it has a former name."""
    if place is not None and name in FORMER and (place, name) not in _told:
        _told.add((place, name))
        told = "note: %s: %r is a former name; it is %r now"
        logging.getLogger("ngo").warning(told, place, name, FORMER[name])
    return FORMER.get(name, name)


def renamed(values: Mapping[str, object], place: str | None = None) -> dict[str, object]:
    """``values`` under present names. If a field has two values, the later counts."""
    return {present(name, place): value for name, value in values.items()}


def renamed_throughout(value: object, place: str) -> object:
    """A config or claims with present names: of keys, of texts, and of ``{name}`` in texts."""
    if isinstance(value, Mapping):
        return {
            renamed_throughout(key, place): renamed_throughout(each, place)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [renamed_throughout(each, place) for each in value]
    if not isinstance(value, str):
        return value
    braced = re.sub(r"{[\w.]+}", lambda found: _present_path(found[0], place), value)
    return present(braced, place)


def _present_path(braced: str, place: str) -> str:
    """``{data.method}`` for ``{data.protocol}``."""
    return re.sub(r"\w+", lambda found: present(found[0], place), braced)


def read_claims(path: str | Path) -> ClaimsFile:
    """The checked claims of a file; a one-line UserError for the first mistake in it."""
    from verdicts.claims.claims_file import claims_of
    from verdicts.files import read_mapping

    content = renamed_throughout(read_mapping(path, "claims"), f"claims, {str(path)!r}")
    return claims_of(content, Path(path).parent)
