"""A claim, its parts, and the gates that runs must pass to decide it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from verdicts.files import mapping
from verdicts.quantities import POOLED, QUANTITIES
from verdicts.registry import as_list, one_of
from verdicts.statistics.evidence import Expectation
from verdicts.statistics.planning import Plan
from verdicts.statistics.setting_rules import spoken
from verdicts.table import SETTING, Selection

#: The mark of a claim that its author may have meant in another way.
ALTERNATIVE = "alternative"

#: Trivial: it follows from definitions, or could not come out otherwise. Circular: its prediction
#: was fitted to the numbers that decide it.
MARKS = ("trivial", "circular", ALTERNATIVE)


#: Kinds of claims with a limit, not a direction.
BOUNDS = ("bound", "theorem", "theorem amended")

#: The quantities that compare two sides, and the arguments with these.
SIDES = {"difference": ("of", "minus"), "log_ratio": ("of", "to")}

#: How the names of tables with added seeds start.
ADDED = "added_"


@dataclass(frozen=True)
class Cell:
    """A part of a claim's rows, with its own verdict."""

    where: Selection
    expectation: Expectation | None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim, as the file has it."""

    id: str
    place: str = ""
    says: str
    #: The author's own words; may be empty.
    quote: str = ""
    kind: str
    tables: tuple[str, ...] = ()
    where: Selection = field(default_factory=dict)
    quantity: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    #: None for a quantity with cases, and if only the cells have expectations.
    expectation: Expectation | None
    unit: str = ""
    family: str
    gates: tuple[str, ...] = ()
    shows: str = ""
    cells: Mapping[str, Cell] = field(default_factory=dict)
    every_cell: bool = False
    #: The setting that the author leaves open, whose values are the cells; or empty.
    depends_on: str = ""
    #: The numbers of seeds at which it is judged; empty: at any.
    looks: Plan = ()
    #: The sampled settings over which it is judged; None for a claim about seeds.
    universes: Universes | None = None
    #: One of ``MARKS``, and why; such claims are counted apart.
    mark: str | None = None
    mark_reason: str = ""
    #: Whether its number is the same in all seeds, and decided by its value: nothing is sampled.
    exact: bool = False
    #: The test (``samples.TESTS``) of sides whose runs are not paired; empty: as they are.
    test: str = ""
    #: The ids of the claims whose numbers a pooled claim is about.
    pooled: tuple[str, ...] = ()

    @property
    def parts(self) -> dict[str, Cell]:
        """The claim itself, under an empty name, and its cells."""
        return {"": Cell({}, self.expectation), **self.cells}

    @property
    def is_pooled(self) -> bool:
        """Whether its number is the mean of those of other claims."""
        return self.quantity == POOLED

    @property
    def has_sides(self) -> bool:
        """Whether it can be judged by the runs of two sides that are not paired."""
        return self.quantity in SIDES and not (self.looks or self.universes or self.exact)

    @property
    def open_values(self) -> dict[str, list[str]]:
        """The values of the setting that the author leaves open, and the names of their cells.

        The setting is the field of the cells that has its name, or the fields whose values all have
        the same cells, with the same expectations: an author who leaves it open has one number for
        all. Without such a field, each cell is a value.
        """
        fields = sorted({name for cell in self.cells.values() for name in cell.where})
        named = [name for name in fields if self.depends_on in (name, spoken(name))]
        chosen = named or [name for name in fields if self._is_open(name)] or fields
        cells_of: dict[str, list[str]] = {}
        for cell, of in self.cells.items():
            value = ", ".join(str(of.where.get(name)) for name in chosen)
            cells_of.setdefault(value, []).append(cell)
        return {cells[0] if len(cells) == 1 else v: cells for v, cells in cells_of.items()}

    def _is_open(self, name: str) -> bool:
        """Whether all values of a field have the same cells, with the same expectations."""
        expected: dict[str, dict[str, Expectation | None]] = {}
        for cell in self.cells.values():
            rest = sorted(item for item in cell.where.items() if item[0] != name)
            expected.setdefault(str(cell.where.get(name)), {})[str(rest)] = cell.expectation
        first, *others = expected.values()
        return all(other == first for other in others)

    @property
    def added(self) -> str:
        """The table with the runs of seeds that were added for this claim alone."""
        return ADDED + re.sub(r"\W", "_", self.id)


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A condition that runs must meet before they can decide a claim."""

    name: str
    #: Empty: the rows of the claim.
    tables: tuple[str, ...] = ()
    where: Selection = field(default_factory=dict)
    #: A column at the last evaluation of each run; None if a quantity is used.
    column: str | None = None
    quantity: str | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)
    take: str
    above: float | None = None
    below: float | None = None
    reason: str
    #: The day on which it was set, of a gate that came after the results; else empty.
    late: str = ""


@dataclass(frozen=True)
class Universes:
    """How a claim is judged over universes: samples of the settings that nobody stated."""

    #: The settings that may decide it; empty: all columns ``universe_NAME`` of its rows.
    settings: tuple[str, ...]
    #: Asked of all rows of a universe: whether it counts.
    gate: Gate | None

    @property
    def columns(self) -> list[str]:
        """The columns of the settings that are named."""
        return [f"{SETTING}{name}" for name in self.settings]


@dataclass(frozen=True)
class ClaimsFile:
    """The claims of a file in its order, and its gates."""

    claims: Mapping[str, Claim]
    gates: Mapping[str, Gate]
    #: The files with printed numbers that claims name.
    printed: tuple[Path, ...] = ()
    #: What decides each claim, as a hash, by id (``expanded_entries.forms``).
    forms: Mapping[str, str] = field(default_factory=dict)
    #: Patterns of ids: these claims have no row where they are not run.
    optional: tuple[str, ...] = ()
    #: Where numbers are printed (file, column, where, and the row), by their places in the file:
    #: ``claims.ID.cells.CELL.paper``.
    sources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def is_optional(self, claim: str) -> bool:
        """Whether a claim has no row where it is not run."""
        return any(fnmatchcase(claim, pattern) for pattern in self.optional)

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of all tidy tables that claims and gates read if they are there, sorted."""
        added = {claim.added for claim in self.claims.values() if claim.looks}
        return tuple(sorted(added.union(*map(self.read_by, self.claims.values()))))

    def read_by(self, claim: Claim) -> set[str]:
        """The tidy tables that a claim, its gates and the claims that it pools read."""
        members = (self.read_by(self.claims[name]) for name in claim.pooled)
        return {*claim.tables}.union(*(self.gates[name].tables for name in claim.gates), *members)

    def conditions(self, claim: Claim) -> dict[str, Claim | Gate]:
        """The claim and its gates, by their places in the file."""
        key = f"claims.{claim.id}"
        gates = {f"gates.{name}": self.gates[name] for name in claim.gates}
        if claim.universes and claim.universes.gate:
            gates[f"{key}.universes.gate"] = claim.universes.gate
        return {key: claim, **gates}

    def with_named(self, argument: str, values: Mapping[str, object]) -> ClaimsFile:
        """The same, with ``values`` in place of their names where claims give ``argument``.

        A claim names a network, for example, and the config has its numbers. Raises a one-line
        UserError for a name that is not among them.
        """
        claims = dict(self.claims)
        for id, claim in claims.items():
            if argument in claim.arguments:
                name = one_of(f"claims.{id}.with.{argument}", claim.arguments[argument], values)
                given = {**claim.arguments, argument: values[name]}
                claims[id] = replace(claim, arguments=given)
        return replace(self, claims=claims)


def selections(key: str, entry: Claim | Gate) -> Iterator[tuple[str, Selection]]:
    """The arguments of a quantity that select rows, with their places; weights are left out.

    ``key`` is the place of the claim or gate. Raises a UserError for an argument of another type.
    """
    quantity = QUANTITIES[str(entry.quantity)]
    for name, value in quantity.given(Selection, entry.arguments):
        place = f"{key}.with.{name}"
        for term in as_list(value):
            fields = mapping(place, term).items()
            yield place, {column: wanted for column, wanted in fields if column != "weight"}
