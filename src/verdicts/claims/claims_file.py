"""The file of claims: what is claimed, and how each claim is decided.

``README.md`` explains its format. A file is checked before there are tables, and without pandas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from verdicts.claims import claim as schema
from verdicts.claims.claim import Cell, Claim, ClaimsFile, Gate, Universes
from verdicts.claims.conditions import check_names, check_shares
from verdicts.claims.expanded_entries import PrintedValue, Resolved, forms
from verdicts.files import boolean, check_keys, mapping, names, number, read_mapping, text
from verdicts.quantities import POOLED, QUANTITIES, Quantity
from verdicts.registry import UserError, as_list, check, one_of, printable, shown, unknown
from verdicts.run_values import Value
from verdicts.statistics.evidence import RELATIONS, Expectation
from verdicts.statistics.planning import Plan, checked_plan
from verdicts.statistics.samples import TESTS
from verdicts.table import Column, Selection, Tables, read_tables

#: The keys of a claim, and of a gate, whose values are fields of it, and what a cell may have, too.
OF_CLAIM = (
    *("place", "says", "quote", "kind", "from", "where", "quantity", "with", "unit", "exact"),
    *("test", "family", "gate", "shows", "every_cell", "depends_on", "universes", "looks"),
)
OF_GATE = ("from", "where", "column", "quantity", "with", "take", "above", "below", "else", "late")
OWN_OF_A_CELL = (*RELATIONS, "margin", "standard_error")
#: ``shared`` is not read: it has what claims name by YAML's anchors.
SECTIONS = ("looks", "optional", "shared", "gates", "claims")
#: Keys that a pooled claim has not: the claims that it pools have their own.
OF_ROWS = ("from", "where", "gate", "cells", "every_cell", "depends_on", "universes")

#: How a gate condenses its values.
TAKEN = ("min", "max", "mean", "median")

# The relations that a kind of claim may have.
KINDS = {
    "number": ("paper", "near"),
    "order": ("above", "below"),
    "trend": ("above", "below"),
    "equality": ("near",),
    **dict.fromkeys(schema.BOUNDS, ("above", "below", "near")),
}


#: The kind of a claim that states none, by its relation; without one, it is a theorem.
KIND_OF = {"above": "order", "below": "order", "near": "equality", "paper": "number"}


def read_claims(path: str | Path) -> ClaimsFile:
    """The checked claims of a file; a one-line UserError for the first mistake in it."""
    return claims_of(read_mapping(path, "claims"), Path(path).parent)


def checked_tables(claims: ClaimsFile, folder: str | Path) -> Tables:
    """The tables in a folder that claims read, with the columns that they name.

    Raises a UserError like ``read_tables`` and ``check_names``.
    """
    tables = read_tables(folder, claims.tables)
    check_names(claims, tables)
    return tables


def claims_of(content: Mapping[Any, object], folder: Path) -> ClaimsFile:
    """The checked claims in the ``content`` of a file; ``folder`` has the printed numbers."""
    check_keys("claims", content, SECTIONS, ("claims",))
    plan = checked_plan("looks", content.get("looks"))
    entries = Resolved(content, folder)
    hashes = forms(entries)
    gates = {str(name): _gate(f"gates.{name}", name, gate) for name, gate in entries.gates.items()}
    read = [_claim(f"claims.{name}", name, e, gates, plan) for name, e in entries.claims.items()]
    claims = {of.id: replace(of, pooled=entries.members.get(of.id, ())) for of in read}
    _check_members(claims)
    optional = names("optional", content["optional"]) if "optional" in content else ()
    files, sources = tuple(sorted(entries.printed.files)), entries.printed.sources
    return ClaimsFile(claims, gates, files, hashes, optional, sources)


def _read(key: str, values: Mapping[str, object], known: Iterable[str]) -> dict[str, Any]:
    """The values of those of the ``known`` keys that are given, by the names of their fields."""
    given = [name for name in known if name in values]
    return {FIELDS.get(name, name): READERS[name](f"{key}.{name}", values[name]) for name in given}


def _claim(key: str, name: object, entry: object, gates: Mapping[str, Gate], plan: Plan) -> Claim:
    if not isinstance(name, str) or not re.fullmatch("[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise UserError(f"claims: the id {shown(name)} is not allowed; use letters, digits, _.-")
    values = mapping(key, entry)
    pooled = values.get("quantity") == POOLED
    keys = (*OF_CLAIM, *OWN_OF_A_CELL, *schema.MARKS, "cells")
    allowed = [name for name in keys if not pooled or name not in OF_ROWS]
    needed = ("says", "quantity") if pooled else ("says", "from", "quantity")
    check_keys(key, values, allowed, needed)
    expectation, mark = _expectation(key, values), _given(key, values, schema.MARKS)
    entries = mapping(f"{key}.cells", values.get("cells", {})).items()
    cells = {str(cell): _cell(f"{key}.cells.{cell}", more, expectation) for cell, more in entries}
    compared = (expectation, *(cell.expectation for cell in cells.values()))
    relations = [of.relation for of in compared if of is not None]
    read = _read(key, values, OF_CLAIM)
    # More seeds do not tell whether a printed number is that of one more run.
    once = any(map(read.get, ("universes", "exact", "test"))) or "paper" in relations
    kind = KIND_OF[relations[0]] if relations else "theorem"
    usual: dict[str, Any] = {"family": name, "kind": kind, "looks": () if once else plan}
    reason = text(f"{key}.{mark}", values[mark]) if mark else ""
    check(reason or not mark, f"{key}.{mark}", reason, "give the reason")
    known = {"expectation": expectation, "cells": cells, "mark": mark, "mark_reason": reason}
    claim = Claim(id=name, **{**usual, **known, **read})
    _check_arguments(f"{key}.with", QUANTITIES[claim.quantity], claim.arguments)
    for gate in claim.gates:
        one_of(f"{key}.gate", gate, gates)
    _check_expectations(key, claim)
    check_shares(key, claim)
    return claim


def _universes(key: str, entry: object) -> Universes:
    values = mapping(key, entry)
    check_keys(key, values, ("settings", "gate"), ())
    settings = names(f"{key}.settings", values["settings"]) if "settings" in values else ()
    if "gate" not in values:
        return Universes(settings, None)
    key, asked = f"{key}.gate", mapping(f"{key}.gate", values["gate"])
    known = [name for name in OF_GATE if name not in ("from", "else", "late")]
    check_keys(key, asked, known, ("take",))
    told = {"else": "the universe does not count"}
    return Universes(settings, _gate(key, "universes", {**asked, **told}))


def _cell(key: str, entry: object, expectation: Expectation | None) -> Cell:
    values = mapping(key, entry)
    given = {name: value for name, value in values.items() if name in OWN_OF_A_CELL}
    where = {name: value for name, value in values.items() if name not in given}
    if expectation is not None and given:
        kept = {"margin": expectation.margin, "standard_error": expectation.error}
        if not any(name in given for name in RELATIONS):
            kept[expectation.relation] = expectation.value
        given = {**{name: value for name, value in kept.items() if value is not None}, **given}
    return Cell(_where(key, where), _expectation(key, given) if given else expectation)


def _check_expectations(key: str, claim: Claim) -> None:
    """A claim needs one expectation, unless its quantity has cases or its cells have their own."""
    quantity, over, allowed = QUANTITIES[claim.quantity], claim.universes, KINDS[claim.kind]
    exact = claim.exact and (claim.looks or over or quantity.cases)
    sides = f"only for {' and '.join(schema.SIDES)}, without 'looks', 'universes' and 'exact'"
    for name, mistaken, why in (
        ("every_cell", claim.every_cell and not claim.cells, "true needs 'cells'"),
        ("every_cell", claim.every_cell and over, "not allowed with 'universes'"),
        ("depends_on", claim.depends_on and not claim.cells, "it needs 'cells': its values"),
        ("depends_on", claim.depends_on and over, "not allowed with 'universes'"),
        ("depends_on", claim.depends_on and claim.every_cell, "not allowed with 'every_cell'"),
        ("looks", claim.looks and over, "not allowed with 'universes'; they are judged once"),
        ("exact", exact, "not allowed with 'looks', 'universes' or cases"),
        ("test", claim.test and not claim.has_sides, sides),
        ("universes", over and quantity.ratio, f"{quantity.name!r} is a ratio of means over seeds"),
    ):
        if mistaken:
            raise UserError(f"{key}.{name}: {why}.")
    judged = {f"{key}.cells.{name}": cell.expectation for name, cell in claim.cells.items()}
    if not (claim.every_cell or claim.depends_on):
        judged[key] = claim.expectation
    for place, expectation in judged.items():
        relation = expectation.relation if expectation else None
        if not quantity.cases and relation is None:
            raise UserError(f"{place}: one of {', '.join(RELATIONS)} is missing.")
        if quantity.cases and relation:
            told = f"has cases; name none of {', '.join(OWN_OF_A_CELL)}."
            raise UserError(f"{place}.{relation}: the quantity {quantity.name!r} {told}")
        if relation and relation not in allowed:
            told = f"a claim of kind {claim.kind!r}; allowed: {', '.join(allowed)}."
            raise UserError(f"{place}.{relation}: not allowed for {told}")
        if over and (expectation is None or not expectation.directed):
            raise UserError(f"{place}.universes: it needs a quantity with above, or below.")


def _expectation(key: str, values: Mapping[str, object]) -> Expectation | None:
    relation, read = _given(key, values, RELATIONS), _read(key, values, OWN_OF_A_CELL)
    margin, error = read.get("margin"), read.get("standard_error")
    if error is not None and relation != "paper":
        raise UserError(f"{key}.standard_error: it is that of a printed number; it needs 'paper'.")
    if margin is not None and relation is None:
        raise UserError(f"{key}.margin: it needs one of {', '.join(RELATIONS)}.")
    if margin is not None and relation == "paper":
        raise UserError(f"{key}.margin: not allowed with 'paper'; the prediction interval decides.")
    if margin is None and relation == "near":
        raise UserError(f"{key}: 'margin' is missing; 'near' needs it.")
    if relation is None:
        return None
    value = read[relation]
    printed = vars(value) if isinstance(value, PrintedValue) else {}
    return Expectation(relation, value, margin, error, **printed)


def _positive(key: str, value: object) -> float:
    return check(number(key, value) > 0, key, value, "it must be above 0")


def _given(key: str, values: Mapping[str, object], known: Iterable[str]) -> str | None:
    """The one of the known keys that is given, if any; a UserError if two are."""
    given = [name for name in known if name in values]
    if len(given) > 1:
        raise UserError(f"{key}: {' and '.join(given)} are both given; name one.")
    return given[0] if given else None


def _gate(key: str, name: object, entry: object) -> Gate:
    values = mapping(key, entry)
    check_keys(key, values, OF_GATE, ("take", "else"))
    if ("column" in values) == ("quantity" in values):
        raise UserError(f"{key}: one of column, quantity must be given.")
    if not {"above", "below"} & values.keys():
        raise UserError(f"{key}: one of above, below is missing.")
    gate = Gate(name=str(name), **_read(key, values, OF_GATE))
    if gate.quantity is not None:
        quantity = QUANTITIES[gate.quantity]
        _check_arguments(f"{key}.with", quantity, gate.arguments)
        if quantity.cases or quantity.ratio:
            what = "cases" if quantity.cases else "no number of one seed"
            raise UserError(f"{key}.quantity: {quantity.name!r} has {what}; a gate needs numbers.")
    return gate


def _day(key: str, value: object) -> str:
    day = r"\d{4}-\d\d-\d\d"
    return str(check(re.fullmatch(day, str(value)), key, value, "give a day like 2026-01-31"))


def _check_arguments(key: str, quantity: Quantity, arguments: Mapping[str, object]) -> None:
    """Check that the function of a quantity takes the arguments."""
    types, given = quantity.types, {**quantity.defaults, **arguments}
    check_keys(key, arguments, types, ())
    if missing := [argument for argument in types if argument not in given]:
        raise UserError(f"{key}: {missing[0]!r} is missing; {quantity.name!r} needs it.")
    for argument, value in arguments.items():
        _check_argument(f"{key}.{argument}", types[argument], value)


def _check_argument(key: str, kind: object, value: object) -> None:
    """Check an argument by its type: selections, lists and scalars; any of them may be optional."""
    if NoneType in (parts := get_args(kind)):
        if value is None:
            return
        kind = parts[0] if len(parts) == 2 else kind
    if kind in (Sequence[Column], Sequence[Selection]):
        check(isinstance(value, list), key, value, f"it must be a list: [{shown(value)}]")
    if kind in (Selection, Sequence[Selection]):
        for item in as_list(value):
            term = dict(mapping(key, item))
            if isinstance(value, list) and "weight" in term:
                number(f"{key}.weight", term.pop("weight"))
            _where(key, term)
    elif kind == Value and not isinstance(value, str):
        for item in mapping(key, value).values():
            check(isinstance(item, str | int | float), key, item, "name a column, or a number")
    elif kind is bool:
        boolean(key, value)
    elif kind in (float, int):
        number(key, value)
    elif kind in (str, Column):
        check(isinstance(value, str), key, value, "it must be text")


def _tables(key: str, value: object) -> tuple[str, ...]:
    """The names of tables, which have no folder."""
    tables = names(key, value)
    for name in tables:
        right = not re.search(r"[/\\]", name) and printable(name) == name
        check(right, key, name, "name a table of the tables' folder")
    return tables


def _where(key: str, value: object) -> Selection:
    selection = mapping(key, value)
    for name, wanted in selection.items():
        place = f"{key}.{name}"
        check(isinstance(name, str), key, name, "name a column")
        if isinstance(wanted, Mapping):
            check_keys(place, wanted, ("min", "max"), ())
            for end, limit in wanted.items():
                number(f"{place}.{end}", limit)
            continue
        check(wanted != [], place, wanted, "name at least one value")
        for item in as_list(wanted):
            right = isinstance(item, None | str | int | float | date) and item == item
            check(right, place, item, "name a value, or a list")
    return selection


#: What checks the value of a key of a claim or a gate, and returns that of its field.
READERS: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("place", "says", "quote", "unit", "shows", "family", "depends_on"), text),
    **dict.fromkeys(("column", "else"), text),
    **dict.fromkeys(("exact", "every_cell"), boolean),
    **dict.fromkeys(RELATIONS, number),
    **dict.fromkeys(("margin", "standard_error"), _positive),
    **{"from": _tables, "where": _where, "with": mapping, "gate": names, "late": _day},
    **{"universes": _universes, "looks": checked_plan},
    **{"kind": partial(one_of, known=KINDS), "test": partial(one_of, known=TESTS)},
    **{"take": partial(one_of, known=TAKEN), "quantity": partial(one_of, known=QUANTITIES)},
}
#: The fields with other names than their keys.
FIELDS = {"from": "tables", "with": "arguments", "gate": "gates", "else": "reason"}


def _check_members(claims: Mapping[str, Claim]) -> None:
    """Check what pooled claims name.

    Raises a one-line UserError for a name that no claim has, for a claim whose numbers can't be
    pooled, and for a pooled claim of a negative mean: the mean is above 0 where the claims are
    true.
    """
    for id, claim in claims.items():
        if not claim.is_pooled:
            continue
        if claim.expectation and claim.expectation.relation == "below":
            told = "its numbers are above 0 where its claims are true; use above"
            raise UserError(f"claims.{id}.below: not allowed with the quantity 'pooled': {told}.")
        names(key := f"claims.{id}.with.claims", claim.arguments["claims"])
        for name in claim.pooled:
            if name not in claims:
                raise unknown(key, name, claims)
            for obstacle, why in _obstacles(claim, claims[name]):
                if obstacle:
                    raise UserError(f"{key}: {name!r} can't be pooled: {why}.")


def _obstacles(claim: Claim, member: Claim) -> Iterator[tuple[object, str]]:
    """What may keep the numbers of ``member`` out of those of ``claim``, and why."""
    directed = member.expectation and member.expectation.directed and not member.every_cell
    varies = not (QUANTITIES[member.quantity].ratio or member.exact)
    yield member.is_pooled, "it is a pooled claim"
    yield not directed, "it does not say that one number is above or below a value"
    yield member.test, "its runs are not paired"
    yield not varies, "it has no number of each seed that varies"
    yield member.universes, "it is about universes, not about seeds"
    told = f"its unit is {member.unit!r}, and that of {claim.id!r} is {claim.unit!r}"
    yield member.unit != claim.unit, told
