"""One number of each run: a column at its end, or a number of its whole curve.

Light: claims files are checked without pandas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verdicts.registry import Registry, UserError, nearest, unknown

if TYPE_CHECKING:
    import pandas as pd

Value = str | Mapping[str, object]
"""A column, a name in ``VALUES``, or a mapping of one name to its argument, such as
``{mean: loss}`` or ``{epochs_to_accuracy: 90}``."""


@dataclass(frozen=True)
class RunValue:
    """How a number is read from the evaluations of each run."""

    #: From all evaluations, sorted by step, the last ones, and the argument: a Series indexed by
    #: run.
    read: Callable[..., pd.Series]
    #: The value of a diverged run: the worst that there is; NaN if nothing is worse.
    worst: float
    #: Whether ``read`` takes an argument.
    argument: bool = False


VALUES: Registry[RunValue] = Registry("value")


def _over_evaluations(how: str) -> RunValue:
    """The largest, smallest or mean value of a column over the evaluations of each run.

    Its worst is that of the value with the column's name, if there is one.
    """
    return RunValue(lambda rows, last, column: rows.groupby("run")[column].agg(how), math.nan, True)


_OVER_EVALUATIONS = ("max", "min", "mean")
for _how in _OVER_EVALUATIONS:
    VALUES.add(_how, _over_evaluations(_how))


def per_run(metrics: pd.DataFrame, value: Value) -> pd.DataFrame:
    """The last evaluation of every run, with its number in the column ``value``.

    A diverged run has the value's worst: −inf for an accuracy, inf for a loss or a time, and NaN
    for a column that is no registered value. In a table without the column ``run``, each row is a
    run, and ``value`` is a column. Raises a UserError for an unknown name, and for an argument too
    many or too few.
    """
    if "run" not in metrics:
        if not isinstance(value, str):
            raise UserError(f"value: {dict(value)!r} needs the column 'run', which the rows lack.")
        if value not in metrics:
            raise UserError(f"value: there is no column {value!r}.{nearest(value, metrics)}")
        return metrics.assign(value=metrics[value].astype(float), run=metrics.index.astype(str))
    from verdicts.rows.evaluations import final

    order = ["run", "step"] if "step" in metrics else ["run"]
    rows = metrics.sort_values(order, kind="stable")
    last = final(rows)
    entry, arguments = parsed(value, [str(name) for name in metrics])
    try:
        found = last["run"].map(entry.read(rows, last, *arguments))
    except KeyError as error:
        raise UserError(
            f"value: {value!r} needs the column {error}, which the rows lack."
        ) from None
    found = found.astype(float)
    if "diverged" in last:
        found = found.mask(last["diverged"].astype(bool), entry.worst)
    return last.assign(value=found)


def highest_is_best(value: Value) -> bool:
    """Whether a higher value is better: an accuracy. A UserError if that is not known."""
    known = isinstance(value, Mapping) or value in VALUES
    worst = parsed(value)[0].worst if known else math.nan
    if math.isnan(worst):
        raise UserError(f"best: whether a high or a low {value!r} is better is not known.")
    return worst == -math.inf


def at_the_end(column: str, factor: float = 1.0) -> Callable[..., pd.Series]:
    """How the last value of a column is read, times ``factor``."""
    return lambda rows, last: factor * last.set_index("run")[column]


def parsed(value: Value, columns: Collection[str] = ()) -> tuple[RunValue, list[object]]:
    """The entry of a value, and its argument if it has one; ``columns`` are those of the table.

    Raises a one-line UserError for a mistake.
    """
    if isinstance(value, Mapping):
        if len(value) != 1:
            raise UserError(f"value: {dict(value)!r} is not allowed; give one name, or NAME: x.")
        ((name, argument),) = value.items()
        arguments = [argument]
    else:
        name, arguments = value, []
    if name not in VALUES:
        if arguments or name not in columns:
            raise unknown("value", name, [*VALUES, *(() if arguments else columns)])
        return RunValue(at_the_end(name), math.nan), []
    if VALUES[name].argument != bool(arguments):
        needs = "an argument (NAME: x)" if VALUES[name].argument else "no argument"
        raise UserError(f"value: {name!r} takes {needs}.")
    entry = VALUES[name]
    if name in _OVER_EVALUATIONS and arguments[0] in VALUES:
        entry = replace(entry, worst=VALUES[str(arguments[0])].worst)
    return entry, arguments
