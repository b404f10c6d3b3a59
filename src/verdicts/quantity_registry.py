"""The registry of quantities: the numbers by which claims are judged.

A quantity is a function of the rows of tidy tables that a claim selects, all their evaluations
included, and of the claim's arguments (``with``). It returns one of three things, or ``Scores`` of
it, which know the runs behind the numbers:

- one number per seed, a Series of floats indexed by seed. Values of one seed are combined within
  the seed (paired differences, ratios as logs, slopes, Fisher's z), so that seeds are independent.
  A missing seed is NaN or absent. ±inf: a diverged run decides the comparison of its seed; NaN if
  runs of both sides diverged.
- a part and a whole per seed, if registered with ``ratio=True``: a DataFrame with the columns
  ``part`` and ``whole``, indexed by seed. The claim is about the ratio of their means.
- cases, if registered with ``cases=True``: a DataFrame with the columns ``case`` (its name),
  ``measured``, ``limit`` and ``met`` (bool).

The annotations of arguments say what they are, so that they can be checked before there are tables:
``Selection``, rows of the table; ``Column``, one of its columns; ``Value``, a number of a run
(``run_values``).

``rows`` always has at least one row. The function raises a UserError in one line if the rows lack
what it needs; the claim is then not run, for that reason.

Modules with quantities are imported to read the registry. They import pandas and scipy inside the
functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_args

import numpy as np

from verdicts.lazy import pd
from verdicts.registry import Registry, UserError, load_entries
from verdicts.run_values import Value
from verdicts.scores import Scores

#: The columns of a table of cases.
COLUMNS = ("case", "measured", "limit", "met")

Function = Callable[..., "Scores | pd.Series | pd.DataFrame"]
F = TypeVar("F", bound=Function)


@dataclass(frozen=True)
class Quantity:
    """An entry of the registry."""

    name: str
    function: Function
    #: Whether it returns cases, not one number per seed.
    cases: bool
    #: The unit of its numbers, in words.
    unit: str = ""
    #: Its arguments in a claim, as YAML: what follows ``with:``.
    example: str = ""
    #: Whether it may be given the rows of many universes at once: no two have a seed in common, and
    #: a seed's number depends on the rows of its universe alone (the column ``universe``).
    many_universes: bool = False
    #: Whether it returns a part and a whole per seed.
    ratio: bool = False

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """The parameters of the function other than ``rows``: its arguments in a claim."""
        return list(inspect.signature(self.function).parameters.values())[1:]

    @property
    def types(self) -> dict[str, object]:
        """The type of each argument; the text of an annotation with a name that is not there."""
        names = getattr(inspect.unwrap(self.function), "__globals__", {})
        return {each.name: _type(each.annotation, names) for each in self.parameters}

    @property
    def arguments(self) -> dict[str, bool]:
        """The names of the arguments, and whether each is required."""
        return {each.name: each.default is each.empty for each in self.parameters}

    @property
    def defaults(self) -> dict[str, object]:
        """The arguments that a claim may leave out, with what they are then."""
        return {e.name: e.default for e in self.parameters if e.default is not e.empty}

    def value(self, arguments: Mapping[str, object]) -> Value | None:
        """The number of a run that a claim with these ``arguments`` is about; None if none is."""
        return {**self.defaults, **arguments}.get("value")  # type: ignore[return-value]

    def given(
        self, kind: object, arguments: Mapping[str, object], *, defaults: bool = True
    ) -> list[tuple[str, object]]:
        """The arguments of a type, or of several of it, by name, without None.

        ``kind`` is ``Selection``, ``Column`` or ``Value``, for example.
        """
        values = {**(self.defaults if defaults else {}), **arguments}
        known = [(name, values.get(name)) for name, of in self.types.items() if within(kind, of)]
        return [(name, value) for name, value in known if value is not None]

    @property
    def description(self) -> str:
        """Name, arguments, unit, what it is, and an example, over several lines."""
        arguments = ", ".join(
            each.name if each.default is each.empty else f"{each.name}={each.default!r}"
            for each in self.parameters
        )
        numbers = "a ratio of means over seeds" if self.ratio else "one number per seed"
        returns = "cases" if self.cases else f"{numbers} ({self.unit or 'no unit'})"
        lines = [f"{self.name}({arguments}): {returns}", inspect.getdoc(self.function) or ""]
        lines += [f"Example:  quantity: {self.name}"]
        lines += [f"          with: {self.example}"] if self.example else []
        return "\n".join(lines)

    def scores(self, key: str, result: Any) -> Scores:
        """What the function returned, numbers as floats; a UserError if it is something else."""
        found = result if isinstance(result, Scores) else Scores(result)
        numbers = found.numbers
        columns = COLUMNS if self.cases else ("part", "whole") if self.ratio else ()
        if not columns and isinstance(numbers, pd.Series) and not numbers.index.has_duplicates:
            return replace(found, numbers=numbers.astype(float))
        if columns and isinstance(numbers, pd.DataFrame) and set(columns) <= set(numbers):
            kept = numbers if self.cases else numbers[list(columns)].astype(float)
            return replace(found, numbers=kept)
        what = "a part and a whole per seed" if self.ratio else "one number per seed"
        what = f"a table with the columns {', '.join(COLUMNS)}" if self.cases else what
        raise UserError(f"{key}: {self.name!r} must return {what}.")


def _type(annotation: Any, names: Mapping[str, Any]) -> object:
    try:
        return eval(annotation, dict(names)) if isinstance(annotation, str) else annotation
    except NameError:  # one that only type checkers import
        return annotation


def within(kind: object, of: object) -> bool:
    """Whether a type is ``kind``, or has it inside: ``kind | None``, ``Sequence[kind]``."""
    return kind == of or any(within(kind, part) for part in get_args(of))


QUANTITIES: Registry[Quantity] = Registry("quantity")


def load_quantities() -> None:
    """Register the judge's own: with the first claims file, not with the import of the package."""
    load_entries("verdicts.quantities")


def quantity(
    name: str,
    *,
    cases: bool = False,
    unit: str = "",
    example: str = "",
    many_universes: bool = False,
    ratio: bool = False,
) -> Callable[[F], F]:
    """Register ``f(rows, **arguments)`` as a quantity; arguments are named in its signature.

    ``unit`` is that of its numbers, in words; ``example`` its arguments in a claim, as YAML.
    ``many_universes`` makes claims over universes faster, see ``Quantity``. ``ratio``: it returns a
    part and a whole per seed.
    """

    def register(function: F) -> F:
        entry = Quantity(name, function, cases, unit, example, many_universes, ratio)
        QUANTITIES.add(name, entry, function)
        return function

    return register


def cases(
    rows: pd.DataFrame,
    names: Sequence[str],
    measured: pd.Series | np.ndarray,
    limit: pd.Series | np.ndarray | float,
    met: pd.Series | np.ndarray | None = None,
) -> pd.DataFrame:
    """The columns ``case``, ``measured``, ``limit`` and ``met``; a case has the values ``names``.

    Without ``met``, a case is met if it measured the limit or less.
    A UserError if there are no rows: a statement without cases is not decided.
    """
    if rows.empty:
        raise UserError("cases: no row is left for this statement.")
    records = rows[list(names)].to_dict("records")
    named = [", ".join(f"{name} {_shown(row[name])}" for name in names) for row in records]
    table = pd.DataFrame({"case": named, "measured": pd.Series(measured).to_numpy(dtype=float)})
    table["limit"] = limit if isinstance(limit, float | int) else pd.Series(limit).to_numpy(float)
    below = table["measured"] <= table["limit"]
    return table.assign(met=below if met is None else pd.Series(met).to_numpy(dtype=bool))


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
