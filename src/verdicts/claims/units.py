"""The unit of a claim's number, where its quantity and its value say it; and margins on shares.

A value in points is 100 times the share of 1 in its column, and so is a margin.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from verdicts.claims.claim import Claim
from verdicts.quantity_registry import QUANTITIES
from verdicts.registry import UserError
from verdicts.run_values import SHARE, UNITS, column_of, unit_of

#: How the unit of a quantity starts that has the unit of its value.
OF_THE_VALUE = "that of the value"

#: Where the scales of units end.
SCALES = {SHARE: (0.0, 1.0), "points": (0.0, 100.0)}

#: The least margin that is taken for points if a claim is about a share of 1.
LEAST = 0.1


def known_unit(claim: Claim, claims: Mapping[str, Claim], *, of_runs: bool = True) -> str:
    """The unit that the claim states, or else the one that follows; empty if none is known.

    Without ``of_runs``, its table has no column ``run``: values are columns.
    """
    if claim.unit:
        return claim.unit
    if claim.is_pooled:
        return known_unit(claims[claim.pooled[0]], claims, of_runs=of_runs)
    quantity = QUANTITIES[claim.quantity]
    if not quantity.unit.startswith(OF_THE_VALUE):
        return quantity.unit
    value = quantity.value(claim.arguments)
    unit = unit_of(value) if of_runs and value is not None else UNITS.get(str(value), "")
    if not unit or claim.arguments.get("log"):
        return ""
    along = claim.arguments.get("along")
    per = f"a factor e of {along}" if claim.arguments.get("log_along") else f"1 of {along}"
    rest = quantity.unit.removeprefix(OF_THE_VALUE).replace("1 of the field", per)
    return unit + rest.replace(",", "")


def scale_of(claim: Claim, *, of_runs: bool = True) -> tuple[float, float] | None:
    """Where the scale of a claim's number ends, if it is a level of a known unit; None if not."""
    if claim.quantity != "level":
        return None
    return SCALES.get(known_unit(replace(claim, unit=""), {}, of_runs=of_runs))


def check_shares(
    key: str, claim: Claim, shares: Collection[str] = (), *, of_runs: bool = True
) -> None:
    """Raise a UserError for a margin of ``LEAST`` or more about a column that is a share of 1.

    ``shares`` are such columns beside those of which it is known. ``of_runs``: see ``known_unit``.
    """
    quantity = QUANTITIES[claim.quantity]
    value = quantity.value(claim.arguments)
    if value is None or claim.arguments.get("log") or not quantity.unit.startswith(OF_THE_VALUE):
        return
    column = column_of(value, of_runs=of_runs)
    if column not in shares and UNITS.get(str(column)) != SHARE:
        return
    expectations = {f"{key}.cells.{name}": cell.expectation for name, cell in claim.cells.items()}
    for place, expectation in {key: claim.expectation, **expectations}.items():
        if expectation and expectation.margin and expectation.margin >= LEAST:
            margin = expectation.margin
            raise UserError(
                f"{place}.margin: {margin:g} is not allowed, it would be {100 * margin:g} points: "
                f"{column!r} is a {SHARE}; {margin:g} points are {margin / 100:g}."
            )
