"""The claims whose numbers a pooled claim is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from verdicts.claims.claim import Claim
from verdicts.claims.entries import names
from verdicts.quantity_registry import QUANTITIES
from verdicts.registry import UserError, unknown


def with_members(claims: Mapping[str, Claim]) -> dict[str, Claim]:
    """The claims; pooled ones with the ids of all claims that they name by id or pattern.

    A pattern stands for claims that are not pooled. Raises a one-line UserError for a name that no
    claim has, for a claim whose numbers can't be pooled, and for a pooled claim of a negative mean:
    the mean is above 0 where the claims are true.
    """
    for claim in claims.values():
        if claim.is_pooled and claim.expectation and claim.expectation.relation == "below":
            raise UserError(
                f"claims.{claim.id}.below: not allowed with the quantity 'pooled', whose numbers "
                "are above 0 where its claims are true; use above."
            )
    return {
        id: replace(claim, pooled=tuple(dict.fromkeys(_members(claim, claims))))
        if claim.is_pooled
        else claim
        for id, claim in claims.items()
    }


def alike(name: str, ids: Iterable[str]) -> list[str]:
    """The ids that a name or a pattern stands for."""
    return [id for id in ids if fnmatchcase(id, name)]


def _members(claim: Claim, claims: Mapping[str, Claim]) -> Iterator[str]:
    key = f"claims.{claim.id}.with.claims"
    for name in names(key, claim.arguments["claims"]):
        single = {id: each for id, each in claims.items() if not each.is_pooled}
        found = [name] if name in claims else alike(name, single)
        if not found:
            raise unknown(key, name, claims)
        for id in found:
            if obstacle := _obstacle(claim, claims[id]):
                raise UserError(f"{key}: {id!r} can't be pooled: {obstacle}.")
            yield id


def _obstacle(claim: Claim, member: Claim) -> str:
    """Why the numbers of ``member`` can't be among those of ``claim``; empty if they can."""
    if member.is_pooled:
        return "it is a pooled claim"
    if member.every_cell or member.expectation is None or not member.expectation.directed:
        return "it does not say that one number is above or below a value"
    if QUANTITIES[member.quantity].ratio or member.exact:
        return "it has no number of each seed that varies"
    if member.universes is not None:
        return "it is about universes, not about seeds"
    if member.unit != claim.unit:
        return f"its unit is {member.unit!r}, and that of {claim.id!r} is {claim.unit!r}"
    return ""
