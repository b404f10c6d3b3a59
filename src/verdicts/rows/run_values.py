"""One number of each run: a column at its end, or a number of its whole curve.

Light: claims files are checked without pandas.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from verdicts.registry import Registry, UserError, shown, unknown
from verdicts.rows.selection import need

if TYPE_CHECKING:
    import pandas as pd

Value = str | Mapping[str, object]
"""A column, a name in ``VALUES``, or a mapping of one name to its argument, such as
``{mean: loss}`` or ``{epochs_to_accuracy: 90}``. The largest, smallest or mean value of a column
over training (``max``, ``min``, ``mean``) leaves out step 0, and a mean weights each evaluation by
the steps since the one before. It may be that of a phase, by shares of a run's steps:
``{mean: loss, from: 0.5, to: 1}``."""


@dataclass(frozen=True)
class RunValue:
    """How a number is read from the evaluations of each run."""

    #: From all evaluations, sorted by step, the last ones, and the argument: a Series indexed by
    #: run.
    read: Callable[..., pd.Series]
    #: The value of a diverged run: the worst that there is; NaN if no value is better than another;
    #: None if that is not known.
    worst: float | None
    #: Whether ``read`` takes an argument.
    argument: bool = False
    #: In words; empty if it has none, or if it is not known.
    unit: str = ""


VALUES: Registry[RunValue] = Registry("value")

SHARE = "share of 1"

HIGH, LOW = ("accuracy", "score", "return", "reward"), ("loss", "error")
"""Words in the name of a column whose best values are high, or low."""

UNITS: dict[str, str] = {}
"""The units of columns, in words, where they are known."""

IN_POINTS: dict[str, str] = {}
"""The value that has a column in points, for columns whose unit is ``SHARE``."""


def _over_evaluations(how: str) -> RunValue:
    """The largest, smallest or mean value of a column over the training of each run.

    That is over the evaluations after steps: the one before any step says nothing of a method. In
    the mean, each counts for the steps since the one before it that has a value. With ``phase``,
    the two ends of a share of the run's steps, the evaluations are those after steps of the phase.
    A run whose last such evaluation has no value has none: its values end too early. A table
    without steps has one row for each run. The worst is that of the column.
    """

    def read(
        rows: pd.DataFrame, last: pd.DataFrame, column: str, phase: tuple[float, float] = (0, 1)
    ) -> pd.Series:
        from verdicts.rows.evaluations import since_the_row_before

        if "step" not in rows:
            return rows.set_index("run")[column]
        start, end = phase
        share = rows["step"] / rows.groupby("run")["step"].transform("max")
        rows = rows.assign(share=share, value=as_numbers(rows[column], column))
        ends = rows[(rows["share"] > start) & (rows["share"] <= end)].groupby("run").tail(1)
        early = ends.loc[ends["value"].isna(), "run"]
        rows = rows[rows["value"].notna() & ~rows["run"].isin(early)]
        rows = rows.assign(weight=since_the_row_before(rows))
        rows = rows[(rows["weight"] > 0) & (rows["share"] > start) & (rows["share"] <= end)]
        if how != "mean":
            return rows.groupby("run")["value"].agg(how)
        weighted = rows["weight"] * rows["value"]
        return weighted.groupby(rows["run"]).sum() / rows.groupby("run")["weight"].sum()

    read.__doc__ = f"The {how} of the column x over the training of a run, after its first step."
    return RunValue(read, None, True)


_OVER_EVALUATIONS = ("max", "min", "mean")
_PHASE = {"from": 0.0, "to": 1.0}
for _how in _OVER_EVALUATIONS:
    VALUES.add(_how, _over_evaluations(_how))


def per_run(metrics: pd.DataFrame, value: Value, worst: float | None = None) -> pd.DataFrame:
    """The last evaluation of every run, with its number in the column ``value``.

    A diverged run has ``worst``, by default the value's: −inf for an accuracy, inf for a loss or a
    time (``worst_of``). In a table without the column ``run``, each row is a run, and ``value`` is
    a column. Raises a UserError for an unknown name, for an argument too many or too few, and for a
    diverged run of a value whose worst is not known.
    """
    if "run" not in metrics:
        if not isinstance(value, str):
            raise UserError(f"value: {dict(value)!r} needs the column 'run', which the rows lack.")
        need(metrics, [value], "value: ")
        last = metrics.assign(run=metrics.index.astype(str))
        found = as_numbers(metrics[value], value)
        return last.assign(value=with_diverged(found, last, worst or worst_of(value), value))
    from verdicts.rows.evaluations import final

    order = ["run", "step"] if "step" in metrics else ["run"]
    rows = metrics.sort_values(order, kind="stable")
    last = final(rows)
    entry, arguments = parsed(value, [str(name) for name in metrics])
    try:
        found = last["run"].map(entry.read(rows, last, *arguments))
    except KeyError as error:
        told = f"value: {value!r} needs the column {error}, which the rows lack."
        raise UserError(told) from None
    found = as_numbers(found, said(value))
    return last.assign(value=with_diverged(found, last, worst or entry.worst, value))


def with_diverged(
    found: pd.Series, last: pd.DataFrame, worst: float | None, value: Value
) -> pd.Series:
    """The values of runs, those of diverged ones the worst; a UserError if that is not known.

    A diverged run may have ±inf in the table, which tells which end is the worst.
    """
    lost = last["diverged"].astype(bool) if "diverged" in last else None
    if lost is None or not lost.any():
        return found
    if worst is None:
        if found[lost].isin([math.inf, -math.inf]).all():
            return found
        told = f"runs diverged, and whether a high or a low {said(value)!r} is better is not known"
        raise UserError(f"value: {told}; give them inf or -inf in the table.")
    return found.mask(lost, worst)


def worst_of(column: str) -> float | None:
    """The value of a diverged run in a column: that of the registered value of its name.

    Else −inf if a word of its name is in ``HIGH``, inf if one is in ``LOW`` (or its plural), and
    None if neither is, or both are.
    """
    if column in VALUES:
        return VALUES[column].worst
    words = set(re.split("[^a-z]+", column.lower()))
    words |= {word.removesuffix(end) for word in words for end in ("s", "es")}
    low, high = (not words.isdisjoint(known) for known in (LOW, HIGH))
    if low == high:
        return None
    return math.inf if low else -math.inf


def as_numbers(values: pd.Series, key: str) -> pd.Series:
    """A column as floats; a UserError, under ``key``, for times, and for text that is no number.

    Rows are counted below the header, from 1.
    """
    import pandas as pd

    if values.dtype.kind in "mM":  # durations, dates
        raise UserError(f"{key}: it has {values.dtype}, not numbers.")
    try:
        return values.astype(float)
    except (TypeError, ValueError):
        mistakes = values[values.notna() & pd.to_numeric(values, errors="coerce").isna()]
        place = mistakes.index[0]
        row = f" in row {place + 1}" if pd.api.types.is_integer(place) else ""
        raise UserError(f"{key}: {shown(mistakes.iloc[0])}{row} is not a number.") from None


def said(value: Value) -> str:
    """A value in words: ``accuracy``, ``mean V``."""
    if isinstance(value, str):
        return value
    return " ".join(f"{name} {each}" for name, each in value.items())


def unit_of(value: Value) -> str:
    """The unit of a value, in words; empty if it is not known."""
    if isinstance(value, str) and value in VALUES:
        return VALUES[value].unit
    column = column_of(value)
    if column is not None:
        return UNITS.get(column, "")
    name = next(iter(value))
    return VALUES[name].unit if name in VALUES else ""


def column_of(value: Value) -> str | None:
    """The column whose numbers a value has; None for a value that is made of columns."""
    if isinstance(value, str):
        return None if value in VALUES else value
    found = [str(value[name]) for name in _OVER_EVALUATIONS if name in value]
    return found[0] if found else None


def highest_is_best(value: Value) -> bool:
    """Whether a higher value is better: an accuracy. A UserError if that is not known."""
    known = isinstance(value, Mapping) or value in VALUES
    worst = parsed(value)[0].worst if known else None
    if worst is None or math.isnan(worst):
        raise UserError(f"best: whether a high or a low {value!r} is better is not known.")
    return worst == -math.inf


def at_the_end(column: str, factor: float = 1.0) -> Callable[..., pd.Series]:
    """How the last value of a column is read, times ``factor``."""

    def read(rows: pd.DataFrame, last: pd.DataFrame) -> pd.Series:
        return factor * last.set_index("run")[column]

    times = "" if factor == 1 else f", times {factor:g}"
    read.__doc__ = f"The column {column} at the end of a run{times}."
    return read


def parsed(value: Value, columns: Collection[str] = ()) -> tuple[RunValue, list[object]]:
    """The entry of a value, and its argument if it has one; ``columns`` are those of the table.

    Raises a one-line UserError for a mistake.
    """
    name: Any = value
    arguments: list[object] = []
    if isinstance(value, Mapping):
        named = [name for name in value if name not in _PHASE]
        if len(named) != 1:
            raise UserError(f"value: {dict(value)!r} is not allowed; give one name, or NAME: x.")
        name = named[0]
        arguments = [value[name], *([_phase(name, value)] if len(value) > 1 else [])]
    if name not in VALUES:
        if arguments or name not in columns:
            raise unknown("value", name, [*VALUES, *(() if arguments else columns)])
        return RunValue(at_the_end(name), worst_of(name)), []
    if VALUES[name].argument != bool(arguments):
        needs = "an argument (NAME: x)" if VALUES[name].argument else "no argument"
        raise UserError(f"value: {name!r} takes {needs}.")
    entry = VALUES[name]
    if name in _OVER_EVALUATIONS:
        entry = replace(entry, worst=worst_of(str(arguments[0])))
    return entry, arguments


def _phase(name: str, value: Mapping[str, object]) -> tuple[float, float]:
    """The two ends of the phase of a value, as shares of a run's steps."""
    if name not in _OVER_EVALUATIONS:
        known = ", ".join(_OVER_EVALUATIONS)
        raise UserError(f"value: {name!r} has no phase; 'from' and 'to' go with {known}.")
    start, end = ends = tuple(value.get(key, share) for key, share in _PHASE.items())
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in ends)
    if not (numbers and 0 <= start < end <= 1):  # type: ignore[operator]  # they are numbers
        raise UserError(
            f"value: from {start!r} to {end!r} is not allowed; a phase is from a share of the "
            f"steps to a larger one, between 0 and 1."
        )
    return ends  # type: ignore[return-value]
