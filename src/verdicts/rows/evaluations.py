"""The evaluations of runs: the last, those after equal budgets, and one number of each run.

A number is a column at a run's end, or one of its whole curve. Light: claims files are checked
without pandas.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from verdicts.lazy import pd
from verdicts.registry import Registry, TableError, UserError, shown, unknown
from verdicts.rows.selection import UNIVERSE, complete, need
from verdicts.statistics.estimates import exceeds


def last_evaluations(rows: pd.DataFrame) -> pd.DataFrame:
    """The row of each run with the highest ``step``; all rows of a table without runs or steps.

    A run of each universe is a run. One that diverged in any of its rows has diverged. Raises a
    TableError for a row without a run or a step, and for two rows of a run at one step.
    """
    if not {"run", "step"} <= set(rows):
        return rows
    complete(rows, ["run", "step"])
    keys = [name for name in (UNIVERSE, "run") if name in rows]
    if (twice := rows.duplicated([*keys, "step"])).any():
        run, step = rows.loc[twice, ["run", "step"]].iloc[0]
        told = "keep one of them, or give each run a name of its own"
        raise TableError(f"two rows are of run {shown(run)} at step {step}; {told}.")
    runs = rows.reset_index(drop=True).groupby(keys, dropna=False)
    at = runs["step"].idxmax()
    last = rows.iloc[at]
    if "diverged" in rows:
        last = last.assign(diverged=runs["diverged"].transform("any").iloc[at].to_numpy())
    return last


def since_the_row_before(rows: pd.DataFrame) -> pd.Series:
    """The steps since the run's row before, of each row; ``rows`` are sorted by step.

    They weight a mean over training. A row at step 0 has none: it says nothing of a method.
    """
    return rows.groupby("run")["step"].diff().fillna(rows["step"])


def final(metrics: pd.DataFrame) -> pd.DataFrame:
    """The last evaluation of every run; accuracies and losses of a diverged run are NaN.

    A table without steps has one row for each run; a UserError if it has two, and if a run is in
    several universes. Without the column ``diverged``, no run diverged.
    """
    last = last_evaluations(metrics).copy()
    if not last["run"].is_unique:
        run = last.loc[last["run"].duplicated(), "run"].iloc[0]
        if "step" in last:
            raise UserError(f"universe: the run {run!r} is in several; choose one in 'where'.")
        raise UserError(f"step: there is no such column, and the run {run!r} has several rows.")
    if "diverged" in last:
        scores = [name for name in last.columns if "accuracy" in name or "loss" in name]
        last.loc[last["diverged"], scores] = float("nan")
    return last.reset_index(drop=True)


#: Runs that agree on these are compared after the same number of bytes.
SAME = ["dataset", "partition", "seed"]


def at_equal_bytes(metrics: pd.DataFrame, values: list[str]) -> pd.DataFrame:
    """The last evaluation of every run, with ``values`` as they were after ``budget`` bytes.

    The column ``budget`` is the least number of bytes that a run of the same data set, partition
    and seed sent in all, so that every run reached it. Values between two evaluations are linear in
    the bytes sent; those of a diverged run are NaN, and its bytes set no budget.
    """
    return at_equal(metrics, "bytes_sent", values, SAME)


def at_equal(
    metrics: pd.DataFrame, cost: str, values: list[str], same: list[str], share: float = 1.0
) -> pd.DataFrame:
    """The last evaluation of every run, with ``values`` as they were when ``cost`` was ``budget``.

    The column ``budget`` is ``share`` of the least ``cost`` that a run with the same fields
    ``same`` had at its end. Values between two evaluations are linear in the cost; those of a
    diverged run are NaN, and its cost sets no budget.
    """
    last = final(metrics)
    ends = last[cost].where(~last["diverged"]).astype(float)
    budget = share * ends.groupby([last[name] for name in same]).transform("min")
    return _at(metrics, last.assign(budget=budget), cost, values)


def at_equal_steps(metrics: pd.DataFrame, values: list[str]) -> pd.DataFrame:
    """The last evaluation of every run, with ``values`` as they were after ``budget`` steps.

    The column ``budget`` is ``shared_steps``. Values between two evaluations are linear in the
    steps; those of a diverged run are NaN.
    """
    return _at(metrics, final(metrics).assign(budget=float(shared_steps(metrics))), "step", values)


def shared_steps(metrics: pd.DataFrame) -> int:
    """The number of steps that all runs took; the greatest of any if all diverged."""
    last = final(metrics)
    whole = last.loc[~last["diverged"], "step"]
    return int(whole.min() if len(whole) else last["step"].max())


def value_at(metrics: pd.DataFrame, x: str, budget: pd.Series, value: str) -> pd.Series:
    """The column ``value`` of each run where its column ``x`` is ``budget``, indexed by run.

    ``budget`` is indexed by run. Linear in ``x`` between evaluations. NaN for a run that diverged,
    or ended before its budget.
    """
    values = {}
    for run, rows in metrics.groupby("run", sort=False):
        rows = rows.sort_values("step").drop_duplicates(x, keep="last")
        place = rows[x].to_numpy(dtype=float)
        reached = not rows["diverged"].any() and place[-1] >= budget[run]
        line = rows[value].to_numpy(dtype=float)
        values[run] = np.interp(budget[run], place, line) if reached else np.nan
    return pd.Series(values, dtype=float)


def _at(metrics: pd.DataFrame, last: pd.DataFrame, x: str, values: list[str]) -> pd.DataFrame:
    budget = last.set_index("run")["budget"]
    columns = {v: last["run"].map(value_at(metrics, x, budget, v)) for v in values}
    return last.assign(**columns)


def crossing(x: np.ndarray, y: np.ndarray, target: float) -> float:
    """The first ``x`` at which ``y``, linear between points, reaches ``target`` from below.

    A point that is off the target by rounding alone is at it. inf if ``y`` never reaches it; a NaN
    in ``y`` reaches nothing.
    """
    reached = np.flatnonzero(~(exceeds(-y, -target) | np.isnan(y)))
    if not len(reached):
        return np.inf
    k = reached[0]
    if k == 0 or not np.isfinite(y[k - 1]):
        return float(x[k])
    share = min(1.0, (target - y[k - 1]) / (y[k] - y[k - 1]))
    return float(x[k - 1] + share * (x[k] - x[k - 1]))


def time_to(metrics: pd.DataFrame, target: float, column: str, clock: str = "epoch") -> pd.Series:
    """When ``column`` of each run first reaches ``target``, in epochs or steps (``clock``).

    A loss or an error reaches the target from above, all else from below. Linear between points.
    Indexed by run; inf for a run that never reaches it, and for a diverged run.
    """
    sign = -1.0 if worst_of(column) == np.inf else 1.0
    times = {}
    for run, rows in metrics.sort_values("step", kind="stable").groupby("run", sort=False):
        y = sign * rows[column].to_numpy(float)
        lost = rows["diverged"].any()
        times[run] = np.inf if lost else crossing(rows[clock].to_numpy(float), y, sign * target)
    return pd.Series(times, dtype=float)


#: A column, a name in ``VALUES``, or a mapping of one name to its argument, such as
#: ``{mean: loss}`` or ``{epochs_to_accuracy: 90}``. The largest, smallest or mean value of a column
#: over training (``max``, ``min``, ``mean``) leaves out step 0, and a mean weights each evaluation
#: by the steps since the one before. It may be that of a phase, by shares of a run's steps:
#: ``{mean: loss, from: 0.5, to: 1}``.
Value = Annotated[str | Mapping[str, object], "value"]


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

#: Words in the name of a column whose best values are high, or low.
HIGH, LOW = ("accuracy", "score", "return", "reward"), ("loss", "error")

#: The units of columns, in words, where they are known.
UNITS: dict[str, str] = {}


def _over_evaluations(how: str) -> RunValue:
    """The largest, smallest or mean value of a column over the training of each run.

    Step 0 does not count: it says nothing of a method. In the mean, an evaluation weighs the steps
    since the evaluation before. ``phase`` has two shares of a run's steps: only evaluations between
    them count. A run whose last evaluation there lacks a value has none. A table without steps has
    one row for each run. The worst is that of the column.
    """

    def read(
        rows: pd.DataFrame, last: pd.DataFrame, column: str, phase: tuple[float, float] = (0, 1)
    ) -> pd.Series:
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
    a column. Raises a UserError for an unknown name, a wrong number of arguments, and a diverged
    run where the worst value is not known.
    """
    if "run" not in metrics:
        if not isinstance(value, str):
            raise UserError(f"value: {dict(value)!r} needs the column 'run', which the rows lack.")
        need(metrics, [value], "value: ")
        last = metrics.assign(run=metrics.index.astype(str))
        numbers = as_numbers(metrics[value], value)
        return last.assign(value=with_diverged(numbers, last, worst or worst_of(value), value))
    order = ["run", "step"] if "step" in metrics else ["run"]
    rows = metrics.sort_values(order, kind="stable")
    last = final(rows)
    entry, arguments = parsed(value, [str(name) for name in metrics])
    try:
        numbers = last["run"].map(entry.read(rows, last, *arguments))
    except KeyError as error:
        told = f"value: {value!r} needs the column {error}, which the rows lack."
        raise UserError(told) from None
    numbers = as_numbers(numbers, said(value))
    return last.assign(value=with_diverged(numbers, last, worst or entry.worst, value))


def with_diverged(
    values: pd.Series, last: pd.DataFrame, worst: float | None, value: Value
) -> pd.Series:
    """The values of runs, those of diverged ones the worst; a UserError if that is not known.

    A diverged run may have ±inf in the table, which tells which end is the worst.
    """
    lost = last["diverged"].astype(bool) if "diverged" in last else None
    if lost is None or not lost.any():
        return values
    if worst is None:
        if values[lost].isin([math.inf, -math.inf]).all():
            return values
        told = f"runs diverged, and whether a high or a low {said(value)!r} is better is not known"
        raise UserError(f"value: {told}; give them inf or -inf in the table.")
    return values.mask(lost, worst)


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
    """A column as floats; a TableError, under ``key``, for times and for text that is no number."""
    if values.dtype.kind in "mM":  # durations, dates
        raise TableError(f"{key}: it has {values.dtype}, not numbers.")
    try:
        return values.astype(float)
    except (TypeError, ValueError):
        wrong = values[values.notna() & pd.to_numeric(values, errors="coerce").isna()].iloc[0]
        raise TableError(f"{key}: {shown(wrong)} is not a number.") from None


def said(value: Value) -> str:
    """A value in words: ``accuracy``, ``mean V``."""
    if isinstance(value, str):
        return value
    return " ".join(f"{name} {argument}" for name, argument in value.items())


def unit_of(value: Value) -> str:
    """The unit of a value, in words; empty for an unknown one."""
    if isinstance(value, str) and value in VALUES:
        return VALUES[value].unit
    column = column_of(value)
    if column is not None:
        return UNITS.get(column, "")
    name = next(iter(value))
    return VALUES[name].unit if name in VALUES else ""


def column_of(value: Value, *, of_runs: bool = True) -> str | None:
    """The column whose numbers a value has; None for a value that is made of columns.

    Without ``of_runs``, the table has no column ``run``: a name is a column.
    """
    if isinstance(value, str):
        return None if of_runs and value in VALUES else value
    columns = [str(value[name]) for name in _OVER_EVALUATIONS if name in value]
    return columns[0] if columns else None


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
        values = last.set_index("run")[column]
        return values if factor == 1 else factor * values

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
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends)
    if not (numbers and 0 <= start < end <= 1):  # type: ignore[operator]  # they are numbers
        raise UserError(
            f"value: from {start!r} to {end!r} is not allowed; a phase is from a share of the "
            f"steps to a larger one, between 0 and 1."
        )
    return ends  # type: ignore[return-value]
