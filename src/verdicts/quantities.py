"""Quantities: the numbers by which claims are judged; their registry, and those of the judge.

A quantity is a function of the rows of tidy tables that a claim selects, all their evaluations
included, and of the claim's arguments (``with``). It returns one of three things, or ``Scores`` of
it, which know the runs behind the numbers:

- one number per seed, a Series of floats indexed by seed. Values of one seed are combined within
  the seed (paired differences, ratios as logs, slopes), so that seeds are independent.
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
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar, get_args

import numpy as np

from verdicts.lazy import pd, stats
from verdicts.registry import Registry, UserError
from verdicts.run_values import Value, as_numbers
from verdicts.scores import Scores, Side, at_best, combined, logs, mean_over, sides, total
from verdicts.statistics.samples import ROUNDING
from verdicts.table import Column, Selection

#: The columns of a table of cases.
COLUMNS = ("case", "measured", "limit", "met")

Function = Callable[..., "Scores | pd.Series | pd.DataFrame"]
F = TypeVar("F", bound=Function)
Rows: TypeAlias = "pd.DataFrame"
Values: TypeAlias = "pd.Series | np.ndarray"
Columns = Sequence[Column]
Terms = Sequence[Selection]
Maybe = Selection | None
OfTable: TypeAlias = "Callable[[pd.DataFrame], pd.DataFrame] | None"


@dataclass(frozen=True)
class Quantity:
    """An entry of the registry."""

    name: str
    function: Function
    #: Whether it returns cases, not one number per seed.
    cases: bool = False
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
    def defaults(self) -> dict[str, object]:
        """The arguments that a claim may leave out, with what they are then."""
        return {e.name: e.default for e in self.parameters if e.default is not e.empty}

    def value(self, arguments: Mapping[str, object]) -> Value | None:
        """The number of a run that a claim with these ``arguments`` is about; None if none is."""
        return {**self.defaults, **arguments}.get("value")  # type: ignore[return-value]

    def given(self, kind: object, arguments: Mapping[str, object]) -> list[tuple[str, object]]:
        """The arguments of a type, or of several of it, by name, without None.

        ``kind`` is ``Selection``, ``Column`` or ``Value``, for example.
        """
        values = {**self.defaults, **arguments}
        known = [(name, values.get(name)) for name, of in self.types.items() if within(kind, of)]
        return [(name, value) for name, value in known if value is not None]

    @property
    def description(self) -> str:
        """Name, arguments, unit, what it is, and an example, over several lines."""
        known = self.defaults
        named = [f"{name}={known[name]!r}" if name in known else name for name in self.types]
        numbers = "a ratio of means over seeds" if self.ratio else "one number per seed"
        returns = "cases" if self.cases else f"{numbers} ({self.unit or 'no unit'})"
        lines = [f"{self.name}({', '.join(named)}): {returns}", inspect.getdoc(self.function) or ""]
        lines += [f"Example:  quantity: {self.name}"]
        lines += [f"          with: {self.example}"] if self.example else []
        return "\n".join(lines)

    def scores(self, key: str, result: Any) -> Scores:
        """What the function returned, numbers as floats; a UserError if it is something else."""
        found = result if isinstance(result, Scores) else Scores(result)
        numbers = found.numbers
        columns = list(COLUMNS) if self.cases else ["part", "whole"] if self.ratio else []
        if not columns and isinstance(numbers, pd.Series) and not numbers.index.has_duplicates:
            return replace(found, numbers=numbers.astype(float))
        if columns and isinstance(numbers, pd.DataFrame) and set(columns) <= set(numbers):
            return found if self.cases else replace(found, numbers=numbers[columns].astype(float))
        table = f"a table with the columns {', '.join(columns)}"
        what = table if columns else "one number per seed"
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


def quantity(name: str, **properties: Any) -> Callable[[F], F]:
    """Register ``f(rows, **arguments)`` as a quantity; arguments are named in its signature.

    ``properties`` are those of a ``Quantity``: ``unit``, ``example``, ``ratio``, ``cases`` and
    ``many_universes``.
    """

    def register(function: F) -> F:
        QUANTITIES.add(name, Quantity(name, function, **properties), function)
        return function

    return register


def cases(
    rows: Rows, names: Sequence[str], measured: Values, limit: Any, met: Values | None = None
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


#: The quantity of a claim whose number is the mean of those of other claims.
POOLED = "pooled"

#: Units: how that of the value's own starts, and that of a logarithm.
OF_VALUE, LOG_RATIO = "that of the value", "log ratio"
TERMS = "[{weight: 1, method: b}, {weight: -1, method: a}]"
OF_THREE = "{of: {method: b}, than: {method: a}, to: {method: best}}"
CHOSEN = "{of: {method: b}, minus: {method: a}, choose: [lr], by: held_out}"
by_universe = partial(quantity, many_universes=True)


@by_universe("level", unit=OF_VALUE, example="{value: accuracy, over: [topology]}")
def level(rows: Rows, value: Value = "accuracy", over: Columns = (), log: bool = False) -> Scores:
    """The value of each seed's run; the mean over the fields ``over``."""
    return combined(sides(rows, [{}], value, over), logs if log else None)


@by_universe("difference", unit=OF_VALUE, example="{of: {method: b}, minus: {method: a}}")
def difference(
    rows: Rows, of: Selection, minus: Selection, value: Value = "accuracy", over: Columns = ()
) -> Scores:
    """The value of the runs ``of`` − that of the runs ``minus``, by seed.

    Within a seed it is averaged over the fields ``over``, such as the topology. A seed in which one
    side diverged is ±inf, against that side; one in which both did has no number.
    """
    return combined(sides(rows, [of, minus], value, over))


@by_universe("log_ratio", unit=LOG_RATIO, example="{of: {method: b}, to: {method: a}, value: loss}")
def log_ratio(
    rows: Rows, of: Selection, to: Selection, value: Value = "V", over: Columns = ()
) -> Scores:
    """The natural logarithm of value(``of``) / value(``to``), by seed; see ``difference``."""
    return combined(sides(rows, [of, to], value, over), logs)


@by_universe("contrast", unit=OF_VALUE, example=f"{{terms: {TERMS}}}")
def contrast(
    rows: Rows, terms: Terms, value: Value = "accuracy", over: Columns = (), log: bool = False
) -> Scores:
    """Σ weight · value of the runs of each term, by seed.

    A term has a ``weight`` and the fields of its runs. Four terms make an interaction: the effect
    of H on iid data minus that on non-iid data.
    """
    return _weighted(rows, terms, value, over, logs if log else None)


def _weighted(
    rows: Rows, terms: Terms, value: Value, over: Columns, of: OfTable = None, best: OfTable = None
) -> Scores:
    """Σ weight · ``of(values)``; ``best`` chooses among the runs of a term.

    A UserError for a term without a weight.
    """
    weights, wheres = [], []
    for term in terms:
        fields: dict[str, Any] = dict(term)
        try:
            weights.append(float(fields.pop("weight")))
        except (KeyError, TypeError, ValueError):
            raise UserError(f"terms: {dict(term)!r} needs a number as its weight.") from None
        wheres.append(fields)
    return combined(sides(rows, wheres, value, over, best=best), of, weights)


@quantity("remaining_gap", unit="share of the gap", example=OF_THREE, ratio=True)
def remaining_gap(
    rows: Rows,
    of: Selection,
    than: Selection,
    to: Selection,
    value: Value = "accuracy",
    over: Columns = (),
) -> Scores:
    """The share of a gap that remains: the mean of ``to`` − ``of`` over that of ``to`` − ``than``.

    Both are means over all seeds and the fields ``over``. 0: the gap is closed; 1: it is as wide as
    before. Not run if the mean gap is not above 0: there is none to close. A seed in which ``of``
    or ``than`` diverged counts against it; one in which both did, or ``to`` did, has no number.
    Columns: part, whole, by seed.
    """
    part, whole = (difference(rows, to, side, value, over) for side in (of, than))
    seeds = part.numbers.index
    both = pd.DataFrame({"part": part.numbers, "whole": whole.numbers.reindex(seeds)})
    # If both are infinite, two of the three diverged, or the end of the gap did.
    both[np.isinf(both).all(axis=1)] = np.nan
    gap = both["whole"][np.isfinite(both["whole"])]
    if len(gap) and not gap.mean() > 0:
        told = f"there is none to close; {dict(to)} is not above {dict(than)}"
        raise UserError(f"remaining_gap: {told}.")
    return Scores(both, [*part.sides, *whole.sides])


@by_universe("best_difference", unit=OF_VALUE, example=CHOSEN)
def best_difference(
    rows: Rows,
    of: Selection,
    minus: Selection,
    choose: Columns = ("gamma", "p"),
    over: Columns = (),
    value: Value = "accuracy",
    by: Column | None = None,
    best_is: str = "max",
) -> Scores:
    """Each side at its best values of the fields ``choose``: the difference in ``value``.

    The best values have the highest or the lowest (``best_is``: ``max`` or ``min``) mean over seeds
    of the column ``by``; without ``by``, of the held-out accuracy. They are chosen for each side
    and each value of ``over``. A value at which a run diverged comes last. Then the sides are
    compared as in ``difference``. See ``scores.at_best``.
    """
    best = partial(at_best, choose=choose, apart=over, value=value, by=by, best_is=best_is)
    return combined(sides(rows, [of, minus], value, over, best=best))


@by_universe("best_contrast", unit=OF_VALUE, example=f"{{terms: {TERMS}, choose: [lr]}}")
def best_contrast(
    rows: Rows,
    terms: Terms,
    choose: Columns = ("gamma", "p"),
    over: Columns = (),
    value: Value = "accuracy",
    by: Column | None = None,
    best_is: str = "max",
) -> Scores:
    """Each term at its best values of the fields ``choose``: Σ weight · value, by seed.

    Terms are those of ``contrast``, and the best values those of ``best_difference``.
    """
    best = partial(at_best, choose=choose, apart=over, value=value, by=by, best_is=best_is)
    return _weighted(rows, terms, value, over, best=best)


@quantity(POOLED, unit="that of the claims", example="{claims: [b-over-a-*, c-over-a]}")
def pooled(rows: Rows, claims: Sequence[str]) -> Scores:
    """The mean of several claims, by seed: how far their numbers are on the claimed side.

    ``claims`` names them by id, or by patterns (``b-over-*``). All claim a direction, in one unit.
    A number counts from the claim's value, with the sign turned for ``below``: the mean is above 0
    if the claims are true on the whole. A seed that lacks a number of one claim is left out. The
    pooled claim is not run if one of the claims is not. Rows are seeds, columns claims.
    """
    return Scores(mean_over(rows))


@quantity(
    "slope", unit=f"{OF_VALUE}, for 1 of the field", example="{along: workers, value: accuracy}"
)
def slope(
    rows: Rows,
    along: Column,
    value: Value = "accuracy",
    log_along: bool = False,
    log: bool = False,
    of: Selection | None = None,
    minus: Selection | None = None,
    over: Columns = (),
    best: Column | None = None,
) -> Scores:
    """The least-squares slope of the value on the field ``along``, by seed; mean over ``over``.

    ``log_along`` and ``log`` take the natural logarithm of the field and of the value. With ``of``
    and ``minus``, the value is the difference between these runs: NGO − gossip against log n.
    With ``best``, runs are those at the best value of that field: each p at its own best γ
    (``scores.at_best``).

    A run that diverged makes the slope infinite, in the direction of its value. NaN if such runs
    pull both ways, and for a seed with a missing run.
    """
    fields = [along, *over]
    rows = at_best(rows, [best], fields, value) if best else rows

    found = sides(rows, _one_or_two(of, minus), value, fields)
    slopes = partial(_slopes, log_along=log_along)
    return combined(found, logs if log else None, number=slopes)


def _one_or_two(of: Maybe, minus: Maybe) -> list[Selection]:
    """What a side, or two of them, select; without ``of``, all rows."""
    return [of or {}, *([] if minus is None else [minus])]


def _slopes(table: pd.DataFrame, log_along: bool) -> pd.Series:
    """The slope of each seed on the first part of the cell; a mean over the rests of the cell."""
    slopes = []
    for rest in dict.fromkeys(key[1:] for key in table.columns):
        keys = sorted(key for key in table.columns if key[1:] == rest)
        x = as_numbers(pd.Series([key[0] for key in keys]), "along").to_numpy()
        x, Y = np.log(x) if log_along else x, table[keys].to_numpy(float)
        slopes.append([np.nan if np.isnan(y).any() else slope_of(x, y) for y in Y])
    return mean_over(pd.DataFrame(slopes, columns=table.index).T)


def slope_of(x: np.ndarray, y: np.ndarray) -> float:
    """The least-squares slope; NaN if all ``x`` are equal."""
    centred = x - x.mean()
    square = float(centred @ centred)
    if square == 0:
        return np.nan
    # 0 · inf: a run at the mean of x does not change the slope.
    moved = np.abs(centred) > ROUNDING * np.abs(centred).max()
    return float(total(centred[moved] * y[moved])) / square


@quantity("spread", unit=OF_VALUE, example="{across: gamma, value: accuracy}")
def spread(
    rows: Rows, across: Column, value: Value = "accuracy", where: Selection | None = None
) -> Scores:
    """The largest − the smallest value over the field ``across``, by seed.

    inf if a run diverged; NaN for a seed with a missing run.
    """
    return combined(sides(rows, [where or {}], value, [across]), _width)


def _width(table: pd.DataFrame) -> pd.DataFrame:
    """The largest − the smallest number of each seed: inf with an infinite one."""
    width = table.max(axis=1) - table.min(axis=1)
    return width.fillna(np.inf).where(table.notna().all(axis=1)).to_frame()


@quantity(
    "log_spread_ratio", unit=LOG_RATIO, example="{of: {method: b}, to: {method: a}, across: gamma}"
)
def log_spread_ratio(
    rows: Rows, of: Selection, to: Selection, across: Column, value: Value = "accuracy"
) -> Scores:
    """The natural logarithm of spread(``of``) / spread(``to``), by seed.

    ±inf if a run of one side diverged; no number if runs of both did.
    """
    return combined(sides(rows, [of, to], value, [across]), lambda table: logs(_width(table)))


def _over_tasks(found: Sequence[Side], number: Callable[[np.ndarray], np.ndarray]) -> Scores:
    """A number of each seed's scores; that of the second side is subtracted, if there is one."""

    def of_seeds(table: pd.DataFrame) -> pd.DataFrame:
        numbers = pd.DataFrame(number(table.to_numpy()), table.index)
        return numbers.mask(table.isna().any(axis=1), axis=0)

    return combined(found, of_seeds)


@quantity("interquartile_mean", unit=OF_VALUE, example="{over: [task], value: score}")
def interquartile_mean(
    rows: Rows, over: Columns, value: Value = "score", of: Maybe = None, minus: Maybe = None
) -> Scores:
    """The mean of the middle half of each seed's values over the fields ``over``, its tasks.

    That of the runs ``of``, less that of the runs ``minus`` if they are given.
    """
    middle = partial(stats.trim_mean, proportiontocut=0.25, axis=-1)
    return _over_tasks(sides(rows, _one_or_two(of, minus), value, over), middle)


@quantity(
    "performance_profile", unit="share of tasks", example="{above: 0.5, over: [task], value: score}"
)
def performance_profile(
    rows: Rows, above: float, over: Columns, value: Value = "score",
    of: Maybe = None, minus: Maybe = None,
) -> Scores:  # fmt: skip
    """The share of tasks (the fields ``over``) in which a seed's value is above a score.

    Its mean over seeds is the performance profile at that score (Agarwal et al. 2021). ``of`` and
    ``minus`` as in ``interquartile_mean``.
    """
    found = sides(rows, _one_or_two(of, minus), value, over)
    return _over_tasks(found, lambda scores: (scores > above).mean(axis=-1))
