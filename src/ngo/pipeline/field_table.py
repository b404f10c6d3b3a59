"""The table of a run's fields, for the documentation."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ngo.common.fields import Field, wanted
from ngo.common.registry import Registry
from ngo.training.spec import FIELDS, implied


def field_table(fields: Mapping[str, Field] = FIELDS) -> str:
    """A Markdown table: the meaning of each field, its range, and which choices read it.

    With the default of a field that a config need not state.
    """
    free = implied()
    rows = [["field", "meaning", "allowed", "read only with"], ["---"] * 4]
    for name, field in fields.items():
        default = f"; default `{free[name]}`" if name in free else ""
        rows.append([f"`{name}`", field.help, _allowed(field) + default, _read_with(name, field)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def with_table(page: str, name: str, table: str) -> str:
    """A Markdown page with ``table`` between the comments ``name`` and ``end of name``."""
    begin, end = f"<!-- {name}: written by make schema -->\n", f"\n<!-- end of {name} -->"
    pattern = re.escape(begin) + ".*?" + re.escape(end)
    changed, count = re.subn(pattern, lambda _: begin + table + end, page, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"the page has no one place for the table {name!r}")
    return changed


def _allowed(field: Field) -> str:
    if field.names is not None:
        return ", ".join(f"`{name}`" for name in sorted(field.names))
    return wanted(field)


def _read_with(name: str, field: Field) -> str:
    """The choices with which a field has a meaning; empty for one that always has."""
    words = []
    for owner in field.owners:
        registry = FIELDS[owner].names
        users = [each for each in sorted(registry) if name in _fields(registry, each)]
        if len(users) < len(registry):
            words.append(f"{owner} " + ", ".join(f"`{each}`" for each in users))
    return "; ".join(words)


def _fields(registry: Registry, name: str) -> tuple[str, ...]:
    return getattr(registry[name], "fields", ())
