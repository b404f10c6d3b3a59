"""A claim, its parts, and the gates that runs must pass to decide it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from verdicts.claims.expectation import Expectation
from verdicts.registry import unknown

NETWORK = "network"
"""The argument of a quantity that a claim gives by the name of a network."""

Selection = Mapping[str, object]
"""Rows of a table: the value, values (a list) or range (``min``, ``max``) of each column."""

Column = str
"""The name of a column of a table."""

Mixer = str
"""A way to mix without learning: ``linear``, ``NGO`` or another coupling (``rounds``)."""


@dataclass(frozen=True)
class Cell:
    """A part of a claim's rows with a verdict of its own."""

    where: Selection
    expectation: Expectation | None


@dataclass(frozen=True)
class Claim:
    """A claim, as the file has it."""

    id: str
    place: str
    says: str
    kind: str
    tables: tuple[str, ...]
    where: Selection
    quantity: str
    arguments: Mapping[str, object]
    #: None for a quantity with cases, and if only the cells have expectations.
    expectation: Expectation | None
    unit: str
    family: str
    gates: tuple[str, ...]
    shows: str
    cells: Mapping[str, Cell] = field(default_factory=dict)
    every_cell: bool = False


@dataclass(frozen=True)
class Gate:
    """A condition that runs must meet before they can decide a claim."""

    name: str
    #: Empty: the rows of the claim.
    tables: tuple[str, ...]
    where: Selection
    #: A column at the last evaluation of each run; None if a quantity is used.
    column: str | None
    quantity: str | None
    arguments: Mapping[str, object]
    take: str
    above: float | None
    below: float | None
    reason: str


@dataclass(frozen=True)
class ClaimsFile:
    """The claims of a file in its order, and its gates."""

    claims: Mapping[str, Claim]
    gates: Mapping[str, Gate]

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of all tidy tables that claims and gates need, sorted."""
        used = {name for claim in self.claims.values() for name in claim.gates}
        named = [claim.tables for claim in self.claims.values()]
        named += [self.gates[name].tables for name in used]
        return tuple(sorted({table for tables in named for table in tables}))

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of all quantities that claims and gates use, sorted."""
        entries = [*self.claims.values(), *self.gates.values()]
        return tuple(sorted({each.quantity for each in entries if each.quantity}))

    def on(self, networks: Mapping[str, Mapping[str, float]]) -> ClaimsFile:
        """The same, with the numbers of ``networks`` in place of their names.

        Raises a one-line UserError for a name that is not among them.
        """

        def claim_on(claim: Claim) -> Claim:
            if NETWORK not in claim.arguments:
                return claim
            name = claim.arguments[NETWORK]
            if not isinstance(name, str) or name not in networks:
                raise unknown(f"claims.{claim.id}.with.{NETWORK}", name, networks)
            return replace(claim, arguments={**claim.arguments, NETWORK: networks[name]})

        return replace(self, claims={name: claim_on(each) for name, each in self.claims.items()})
