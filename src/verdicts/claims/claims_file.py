"""The file of claims: what is claimed, and how each claim is decided.

``README.md`` and ``schema.yaml`` explain its format. Light: a file is checked before there are
tables, and without pandas.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from verdicts.claims.claim import MARKS, POOLED, Cell, Claim, ClaimsFile, Gate, Universes
from verdicts.claims.entries import boolean, check_keys, mapping, names, number, one_of, text
from verdicts.claims.forms import forms
from verdicts.claims.pooling import with_members
from verdicts.claims.resolved import resolved
from verdicts.claims.units import check_shares
from verdicts.quantity_registry import QUANTITIES
from verdicts.registry import UserError, printable, shown, unknown
from verdicts.rows.selection import Selection
from verdicts.statistics.expectation import RELATIONS, Expectation
from verdicts.statistics.sequential import Plan, checked_plan
from verdicts.yaml_files import read_mapping

CLAIM_KEYS = (
    *("place", "says", "kind", "from", "where", "quantity", "with", *RELATIONS, "margin", "unit"),
    *("family", "gate", "shows", "cells", "every_cell", "universes", "looks", "exact", *MARKS),
)
SECTIONS = ("looks", "optional", "values", "defaults", "gates", "claims")
GATE_KEYS = ("from", "where", "column", "quantity", "with", "take", "above", "below", "else")
UNIVERSES_KEYS = ("settings", "gate")
UNIVERSES_GATE_KEYS = tuple(key for key in GATE_KEYS if key not in ("from", "else"))
OF_ROWS = ("from", "where", "gate", "cells", "every_cell", "universes")
"""Keys that a pooled claim has not: the claims that it pools have their own."""

OWN_OF_A_CELL = (*RELATIONS, "margin")

TAKEN = ("min", "max", "mean", "median")
"""How a gate condenses its values."""

# The relations that a kind of claim may have.
KINDS = {
    "number": ("paper", "near"),
    "order": ("above", "below"),
    "trend": ("above", "below"),
    "equality": ("near",),
    "bound": ("above", "below", "near"),
    "theorem": ("above", "below", "near"),
    "theorem amended": ("above", "below", "near"),
}


def read_claims(path: str | Path) -> ClaimsFile:
    """The checked claims of a file; a one-line UserError for the first mistake in it."""
    return claims_of(read_mapping(path, "claims"), Path(path).parent)


def claims_of(content: Mapping[Any, object], folder: Path) -> ClaimsFile:
    """The checked claims in the ``content`` of a file; ``folder`` has the printed numbers."""
    check_keys("claims", content, SECTIONS, ("claims",))
    plan = checked_plan("looks", content.get("looks"))
    entries = resolved(content, folder)
    gates = {
        str(name): _gate(f"gates.{name}", name, entry) for name, entry in entries.gates.items()
    }
    claims = [
        _claim(f"claims.{name}", name, entry, gates, plan) for name, entry in entries.claims.items()
    ]
    by_id = with_members({claim.id: claim for claim in claims})
    optional = names("optional", content["optional"]) if "optional" in content else ()
    return ClaimsFile(by_id, gates, entries.printed, forms(entries), optional)


def _claim(key: str, name: object, entry: object, gates: Mapping[str, Gate], plan: Plan) -> Claim:
    if not isinstance(name, str) or not re.fullmatch("[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise UserError(f"claims: the id {shown(name)} is not allowed; use letters, digits, _.-")
    values = mapping(key, entry)
    pooled = values.get("quantity") == POOLED
    known = [each for each in CLAIM_KEYS if not pooled or each not in OF_ROWS]
    rows = () if pooled else ("from",)
    check_keys(key, values, known, ("place", "says", "kind", *rows, "quantity"))
    kind = one_of(f"{key}.kind", values["kind"], KINDS)
    quantity, arguments = _quantity(key, values)
    expectation = _expectation(key, values)
    mark = _given(key, values, MARKS)
    universes = _universes(key, values["universes"]) if "universes" in values else None
    exact = boolean(f"{key}.exact", values.get("exact", False))
    looks = () if universes or exact else plan
    if "looks" in values:
        looks = checked_plan(f"{key}.looks", values["looks"])
    claim = Claim(
        id=name,
        place=text(f"{key}.place", values["place"]),
        says=text(f"{key}.says", values["says"]),
        kind=kind,
        tables=() if pooled else _tables(f"{key}.from", values["from"]),
        where=_where(f"{key}.where", values.get("where", {})),
        quantity=quantity,
        arguments=arguments,
        expectation=expectation,
        unit=text(f"{key}.unit", values.get("unit", "")),
        family=text(f"{key}.family", values.get("family", name)),
        gates=names(f"{key}.gate", values["gate"]) if "gate" in values else (),
        shows=text(f"{key}.shows", values.get("shows", "")),
        cells={
            str(cell): _cell(f"{key}.cells.{cell}", more, expectation)
            for cell, more in mapping(f"{key}.cells", values.get("cells", {})).items()
        },
        every_cell=boolean(f"{key}.every_cell", values.get("every_cell", False)),
        universes=universes,
        looks=looks,
        exact=exact,
        mark=mark,
        mark_reason=text(f"{key}.{mark}", values[mark]) if mark else "",
    )
    if mark and not claim.mark_reason:
        raise UserError(f"{key}.{mark}: {values[mark]!r} is not allowed; give the reason.")
    for gate in claim.gates:
        if gate not in gates:
            raise unknown(f"{key}.gate", gate, gates)
    _check_expectations(key, claim)
    check_shares(key, claim)
    return claim


def _universes(claim: str, entry: object) -> Universes:
    key = f"{claim}.universes"
    values = mapping(key, entry)
    check_keys(key, values, UNIVERSES_KEYS, ())
    gate = None
    if "gate" in values:
        own = mapping(f"{key}.gate", values["gate"])
        check_keys(f"{key}.gate", own, UNIVERSES_GATE_KEYS, ("take",))
        gate = _gate(f"{key}.gate", "universes", {**own, "else": "the universe does not count"})
    settings = names(f"{key}.settings", values["settings"]) if "settings" in values else None
    return Universes(settings, gate)


def _cell(key: str, entry: object, expectation: Expectation | None) -> Cell:
    values = mapping(key, entry)
    where = {name: value for name, value in values.items() if name not in OWN_OF_A_CELL}
    own = {name: value for name, value in values.items() if name in OWN_OF_A_CELL}
    if expectation is not None and own:
        kept = {"margin": expectation.margin} if expectation.margin is not None else {}
        if not any(name in own for name in RELATIONS):
            kept[expectation.relation] = expectation.value
        own = {**kept, **own}
    return Cell(_where(key, where), _expectation(key, own) if own else expectation)


def _check_expectations(key: str, claim: Claim) -> None:
    """A claim needs one expectation, unless its quantity has cases or its cells have their own."""
    if claim.every_cell and not claim.cells:
        raise UserError(f"{key}.every_cell: true needs 'cells'.")
    if claim.looks and claim.universes is not None:
        raise UserError(f"{key}.looks: not allowed with 'universes'; they are judged once.")
    if claim.every_cell and claim.universes is not None:
        raise UserError(f"{key}.every_cell: not allowed with 'universes'; each cell has a verdict.")
    if claim.exact and (claim.looks or claim.universes or QUANTITIES[claim.quantity].cases):
        raise UserError(
            f"{key}.exact: not allowed with 'looks', 'universes' or cases; it is of a number that "
            "is the same in all seeds."
        )
    if claim.universes is not None and QUANTITIES[claim.quantity].ratio:
        raise UserError(f"{key}.universes: {claim.quantity!r} is a ratio of means over seeds.")
    judged = {f"{key}.cells.{name}": cell.expectation for name, cell in claim.cells.items()}
    if not claim.every_cell:
        judged[key] = claim.expectation
    for place, expectation in judged.items():
        if QUANTITIES[claim.quantity].cases:
            if expectation is not None:
                raise UserError(
                    f"{place}.{expectation.relation}: the quantity {claim.quantity!r} has cases; "
                    f"name none of {', '.join(OWN_OF_A_CELL)}."
                )
        elif expectation is None:
            raise UserError(f"{place}: one of {', '.join(RELATIONS)} is missing.")
        elif expectation.relation not in KINDS[claim.kind]:
            raise UserError(
                f"{place}.{expectation.relation}: not allowed for a claim of kind {claim.kind!r}; "
                f"allowed: {', '.join(KINDS[claim.kind])}."
            )
        if claim.universes is not None and (expectation is None or not expectation.directed):
            raise UserError(f"{place}.universes: it needs a quantity with above, or below.")


def _expectation(key: str, values: Mapping[str, object]) -> Expectation | None:
    relation = _given(key, values, RELATIONS)
    margin = number(f"{key}.margin", values["margin"]) if "margin" in values else None
    if margin is not None and not margin > 0:
        raise UserError(f"{key}.margin: {margin!r} is not allowed; it must be above 0.")
    if relation is None:
        if margin is not None:
            raise UserError(f"{key}.margin: it needs one of {', '.join(RELATIONS)}.")
        return None
    if margin is None and relation in ("near", "paper"):
        raise UserError(f"{key}: 'margin' is missing; {relation!r} needs it.")
    return Expectation(relation, number(f"{key}.{relation}", values[relation]), margin)


def _given(key: str, values: Mapping[str, object], known: Iterable[str]) -> str | None:
    """The one of the known keys that is given, if any; a UserError if two are."""
    given = [name for name in known if name in values]
    if len(given) > 1:
        raise UserError(f"{key}: {' and '.join(given)} are both given; name one.")
    return given[0] if given else None


def _gate(key: str, name: object, entry: object) -> Gate:
    values = mapping(key, entry)
    check_keys(key, values, GATE_KEYS, ("take", "else"))
    if ("column" in values) == ("quantity" in values):
        raise UserError(f"{key}: one of column, quantity must be given.")
    if not {"above", "below"} & values.keys():
        raise UserError(f"{key}: one of above, below is missing.")
    quantity, arguments = _quantity(key, values) if "quantity" in values else (None, {})
    if quantity is not None and (QUANTITIES[quantity].cases or QUANTITIES[quantity].ratio):
        what = "cases" if QUANTITIES[quantity].cases else "no number of one seed"
        raise UserError(f"{key}.quantity: {quantity!r} has {what}; a gate needs numbers.")
    limits = {
        limit: number(f"{key}.{limit}", values[limit]) if limit in values else None
        for limit in ("above", "below")
    }
    return Gate(
        name=str(name),
        tables=_tables(f"{key}.from", values["from"]) if "from" in values else (),
        where=_where(f"{key}.where", values.get("where", {})),
        column=text(f"{key}.column", values["column"]) if "column" in values else None,
        quantity=quantity,
        arguments=arguments,
        take=one_of(f"{key}.take", values["take"], TAKEN),
        reason=text(f"{key}.else", values["else"]),
        **limits,
    )


def _quantity(key: str, values: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """The quantity and its arguments, which its function must take."""
    name = one_of(f"{key}.quantity", values["quantity"], QUANTITIES)
    arguments = mapping(f"{key}.with", values.get("with", {}))
    known = QUANTITIES[name].arguments
    for argument in arguments:
        if argument not in known:
            raise unknown(f"{key}.with", argument, known)
    for argument, required in known.items():
        if required and argument not in arguments:
            raise UserError(f"{key}.with: {argument!r} is missing; {name!r} needs it.")
    for argument, value in arguments.items():
        _check_argument(f"{key}.with.{argument}", QUANTITIES[name].kinds[argument], value)
    return name, arguments


def _check_argument(key: str, kinds: set[str], value: object) -> None:
    """Check an argument whose annotation has the words ``kinds``: selections, lists and scalars."""
    if value is None and "None" in kinds:
        return
    words = kinds - {"None"}
    if words in ({"Sequence", "Column"}, {"Sequence", "Selection"}) and not isinstance(value, list):
        raise UserError(f"{key}: {shown(value)} is not allowed; it must be a list.")
    if "Selection" in words:
        for each in value if isinstance(value, list) else [value]:
            term = dict(mapping(key, each))
            if isinstance(value, list) and "weight" in term:
                number(f"{key}.weight", term.pop("weight"))
            _where(key, term)
    elif "Value" in words and not isinstance(value, str):
        for each in mapping(key, value).values():
            if not isinstance(each, str | int | float):
                raise UserError(f"{key}: {shown(each)} is not allowed; name a column, or a number.")
    elif words == {"bool"}:
        boolean(key, value)
    elif words in ({"float"}, {"int"}):
        number(key, value)
    elif words == {"str"} and not isinstance(value, str):
        raise UserError(f"{key}: {shown(value)} is not allowed; it must be text.")


def _tables(key: str, value: object) -> tuple[str, ...]:
    """The names of tables, which have no folder."""
    found = names(key, value)
    for name in found:
        if re.search(r"[/\\]", name) or printable(name) != name:
            raise UserError(
                f"{key}: {shown(name)} is not allowed; name a table of the tables' folder."
            )
    return found


def _where(key: str, value: object) -> Selection:
    selection = mapping(key, value)
    for name, wanted in selection.items():
        place = f"{key}.{name}"
        if not isinstance(name, str):
            raise UserError(f"{key}: {shown(name)} is not allowed; name a column.")
        if isinstance(wanted, Mapping):
            check_keys(place, wanted, ("min", "max"), ())
            for end, limit in wanted.items():
                number(f"{place}.{end}", limit)
            continue
        if isinstance(wanted, list) and not wanted:
            raise UserError(f"{place}: [] is not allowed; name at least one value.")
        for each in wanted if isinstance(wanted, list) else [wanted]:
            if not isinstance(each, None | str | int | float | date) or each != each:
                raise UserError(f"{place}: {shown(each)} is not allowed; name a value, or a list.")
    return selection
