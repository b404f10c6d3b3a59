"""The evaluations of runs: the last, and one number of each run.

A number is a column at a run's end, or one of its whole curve. Light: claims files are checked
without pandas.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from verdicts.lazy import pd
from verdicts.registry import Registry, TableError, UserError, one_of, shown, unknown
from verdicts.table import UNIVERSE, complete, diverged_runs, need, read_numbers


def last_evaluations(rows: pd.DataFrame) -> pd.DataFrame:
    """The row of each run with the highest ``step``; all rows of a table without runs or steps.

    A run of each universe is a run. One that diverged in any of its rows has diverged. Raises a
    TableError for a row without a run or a step, and for two rows of a run at one step.
    """
    if not {"run", "step"} <= set(rows):
        return rows
    complete(rows, ["run", "step"])
    keys = [name for name in (UNIVERSE, "run") if name in rows]
    runs = rows.groupby(keys, dropna=False).ngroup().to_numpy()  # of numbers, all is faster
    steps = rows["step"].reset_index(drop=True)
    if (twice := pd.DataFrame({"run": runs, "step": steps}).duplicated().to_numpy()).any():
        run, step = rows.loc[twice, ["run", "step"]].iloc[0]
        told = "keep one of them, or give each run a name of its own"
        raise TableError(f"two rows are of run {shown(run)} at step {step}; {told}.")
    last = rows.iloc[steps.groupby(runs).idxmax()]
    if "diverged" in rows:
        last = last.assign(diverged=rows["diverged"].groupby(runs).any().to_numpy())
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
    if "diverged" in last and last["diverged"].any():
        scores = [name for name in last.columns if "accuracy" in name or "loss" in name]
        last.loc[last["diverged"], scores] = float("nan")
    return last.reset_index(drop=True)


#: A column, a name in ``VALUES``, or a mapping of one name to its argument, such as
#: ``{mean: loss}`` or ``{epochs_to_accuracy: 90}``. The largest, smallest or mean value of a column
#: over training (``max``, ``min``, ``mean``) leaves out step 0, and a mean weights each evaluation
#: by the steps since the one before. It may be that of a phase, by shares of a run's steps:
#: ``{mean: loss, from: 0.5, to: 1}``. ``best`` says which end of it is the best, where its name
#: does not: ``{last: rounds, best: lowest}``.
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

#: Names of metrics whose best values are high, and low: whole names, in lower case, but for what
#: ``PART`` takes away. Of any other name one has to ask (``rounds_to_accuracy``, ``fid_score``).
#: Those of ``ON_A_SCALE`` end at 1, or at 100 in percent.
ON_A_SCALE = ("accuracy", "acc", "f1", "auc")
HIGH = (*ON_A_SCALE, "score", "return", "reward")
LOW = ("loss", "error", "perplexity", "nll", "mse", "rmse", "mae")
PART = r"^((test|val|validation|eval|train|workers|holdout)[-_/ ])*|_mean$|[\s_]*[([]?%[)\]]?$"

#: The words for the ends, and what a diverged run then counts for.
ENDS = {"highest": -math.inf, "lowest": math.inf}

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
        share = rows["step"] / rows.groupby("run")["step"].transform("max")
        inside = share.between(*phase, inclusive="right")
        rows = rows.assign(inside=inside, value=as_numbers(rows[column], column))
        ends = rows[inside].groupby("run").tail(1)
        early = ends.loc[ends["value"].isna(), "run"]
        rows = rows[rows["value"].notna() & ~rows["run"].isin(early)]
        rows = rows.assign(weight=since_the_row_before(rows))
        rows = rows[(rows["weight"] > 0) & rows["inside"]]
        if how != "mean":
            return rows.groupby("run")["value"].agg(how)
        weighted = rows["weight"] * rows["value"]
        return weighted.groupby(rows["run"]).sum() / rows.groupby("run")["weight"].sum()

    read.__doc__ = f"The {how} of the column x over the training of a run, after its first step."
    return RunValue(read, None, True)


def _at_the_end(rows: pd.DataFrame, last: pd.DataFrame, column: str) -> pd.Series:
    """The column x at the end of a run; ``best`` may say which end of it is the best."""
    return last.set_index("run")[column]


VALUES.add("last", RunValue(_at_the_end, None, True))
_OVER_EVALUATIONS = ("max", "min", "mean")
#: The values that are read of a column.
OF_COLUMN = ("last", *_OVER_EVALUATIONS)
_PHASE = {"from": 0.0, "to": 1.0}
for _how in _OVER_EVALUATIONS:
    VALUES.add(_how, _over_evaluations(_how))


def marked(rows: pd.DataFrame, value: Value | None) -> pd.DataFrame:
    """The rows with the column ``diverged``, if they lack it and a run has diverged.

    What has is what ``diverged_runs`` says of the column asked for, and of losses, by all rows: a
    peer may be on another side.
    """
    if "diverged" in rows or not {"run", "step"} <= set(rows):
        return rows
    losses = [str(name) for name in rows if _whole_name(str(name)) in LOW]
    column = None if value is None else column_of(value)
    lost = diverged_runs(rows, filter(None, [column, *losses]))
    return rows.assign(diverged=rows["run"].map(lost)) if lost.any() else rows


def per_run(metrics: pd.DataFrame, value: Value, worst: float | None = None) -> pd.DataFrame:
    """The last evaluation of every run, with its number in the column ``value``.

    What has diverged is what ``marked`` says, by these rows where they are not marked yet. A
    diverged run has ``worst``, by default the value's: −inf for an accuracy, inf for a loss or a
    time (``worst_of``). In a table without the column ``run``, each row is a run, and ``value`` is
    a column. Raises a UserError for an unknown name, a wrong number of arguments, and a diverged
    run where the worst value is not known.
    """
    if "run" in metrics:
        order = ["run", "step"] if "step" in metrics else ["run"]
        rows = marked(metrics.sort_values(order, kind="stable"), value)
        last = final(rows)
        entry, arguments = parsed(value, [str(name) for name in metrics])
        try:
            numbers = last["run"].map(entry.read(rows, last, *arguments))
        except KeyError as error:
            told = f"value: {value!r} needs the column {error}, which the rows lack."
            raise UserError(told) from None
    else:
        if (column := column_of(value, of_runs=False)) is None:
            raise UserError(f"value: {value!r} needs the column 'run', which the rows lack.")
        need(metrics, [column], "value: ")
        last, numbers = metrics.assign(run=metrics.index.astype(str)), metrics[column]
        entry, _ = parsed(value if isinstance(value, Mapping) else {"last": column})
    numbers = with_diverged(as_numbers(numbers, said(value)), last, worst or entry.worst, value)
    if worst is None:
        _check_possible(numbers, entry.worst, value)
    return last.assign(value=numbers)


def with_diverged(
    values: pd.Series, last: pd.DataFrame, worst: float | None, value: Value
) -> pd.Series:
    """The values of runs, those of diverged ones the worst; a UserError if that is not known.

    A diverged run may have ±inf in the table, which tells which end is the worst.
    """
    lost = last["diverged"].astype(bool) if "diverged" in last else pd.Series(False, last.index)
    if worst is not None:
        return values.mask(lost, worst)
    if values[lost].isin([math.inf, -math.inf]).all():
        return values
    told = f"runs diverged, and whether a high or a low {said(value)!r} is better is not known"
    given = {"last": value} if isinstance(value, str) else value
    raise UserError(f"value: {told}; say it: {dict(given, best='lowest')}.")


def _check_possible(values: pd.Series, worst: float | None, value: Value) -> None:
    """Raise a UserError for an infinite value at the good end, and for an impossible accuracy."""
    is_wrong = values == -(worst or math.nan)
    if is_on_a_scale(value):
        is_wrong |= ~values.between(0, 100) & (values.abs() < math.inf)
    for wrong in values[is_wrong].head(1):
        told = f"of a run that diverged, it is {worst:g}, or there is true in a column 'diverged'"
        raise TableError(f"{said(value)}: {wrong:g} cannot be; {told}.")


def is_on_a_scale(value: Value) -> bool:
    """Whether a value is of a column whose whole name is in ``ON_A_SCALE``; not that of workers,
    which has any score of a user's.
    """
    column = column_of(value) or ""
    return _whole_name(column) in ON_A_SCALE and not column.startswith("workers")


def worst_of(column: str) -> float | None:
    """The value of a diverged run in a column: that of the registered value of its name.

    Else −inf if its whole name is in ``HIGH``, inf if it is in ``LOW``, and None for any other.
    """
    if column in VALUES:
        return VALUES[column].worst
    name = _whole_name(column)
    return -math.inf if name in HIGH else math.inf if name in LOW else None


def _whole_name(column: str) -> str:
    return re.sub(PART, "", column.strip().lower())


def as_numbers(values: pd.Series, key: str) -> pd.Series:
    """A column as floats; a TableError, under ``key``, for times and for text that is no number."""
    if values.dtype.kind in "mMc":  # durations, dates, complex numbers
        raise TableError(f"{key}: it has {values.dtype}, not numbers.")
    try:
        return values.astype(float)
    except (TypeError, ValueError):
        numbers, wrong = read_numbers(values)
        if wrong.empty:
            return numbers
        raise TableError(f"{key}: {shown(wrong.iloc[0])} is not a number.") from None


def said(value: Value) -> str:
    """A value in words: ``accuracy``, ``mean V``."""
    if isinstance(value, str):
        return value
    parts = [f"{name} {argument}" for name, argument in value.items() if name != "best"]
    return " ".join(parts).removeprefix("last ")


def unit_of(value: Value) -> str:
    """The unit of a value, in words; empty for an unknown one."""
    if (column := column_of(value)) is not None:
        return UNITS.get(column, "")
    name = value if isinstance(value, str) else next(iter(value))
    return VALUES[name].unit if name in VALUES else ""


def column_of(value: Value, *, of_runs: bool = True) -> str | None:
    """The column whose numbers a value has; None for a value that is made of columns.

    Without ``of_runs``, the table has no column ``run``: a name is a column.
    """
    if isinstance(value, str):
        return None if of_runs and value in VALUES else value
    return next((str(value[name]) for name in OF_COLUMN if name in value), None)


def highest_is_best(value: Value) -> bool:
    """Whether a higher value is better: an accuracy. A UserError if that is not known."""
    worst = parsed(value, [str(column_of(value))])[0].worst
    if worst is None or math.isnan(worst):
        told = f"whether a high or a low {said(value)!r} is better is not known"
        raise UserError(f"best: {told}; it is highest, or lowest.")
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
        named = [name for name in value if name not in (*_PHASE, "best")]
        if len(named) != 1:
            raise UserError(f"value: {dict(value)!r} is not allowed; give one name, or NAME: x.")
        name = named[0]
        has_phase = not _PHASE.keys().isdisjoint(value)
        arguments = [value[name], *([_phase(name, value)] if has_phase else [])]
    if name not in VALUES:
        if arguments or name not in columns:
            raise unknown("value", name, [*VALUES, *(() if arguments else columns)])
        return replace(VALUES["last"], worst=worst_of(name)), [name]
    if VALUES[name].argument != bool(arguments):
        needs = "an argument (NAME: x)" if VALUES[name].argument else "no argument"
        raise UserError(f"value: {name!r} takes {needs}.")
    entry = VALUES[name]
    if name in OF_COLUMN:
        entry = replace(entry, worst=worst_of(str(arguments[0])))
    if isinstance(value, Mapping) and "best" in value:
        entry = replace(entry, worst=ENDS[one_of("value.best", value["best"], ENDS)])
    return entry, arguments


def _phase(name: str, value: Mapping[str, object]) -> tuple[float, float]:
    """The two ends of the phase of a value, as shares of a run's steps."""
    if name not in _OVER_EVALUATIONS:
        known = ", ".join(_OVER_EVALUATIONS)
        raise UserError(f"value: {name!r} has no phase; 'from' and 'to' go with {known}.")
    start, end = ends = tuple(value.get(key, share) for key, share in _PHASE.items())
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends)
    if not (numbers and 0 <= start < end <= 1):  # type: ignore[operator]  # they are numbers
        told = "a phase is from a share of the steps to a larger one, 0 to 1"
        raise UserError(f"value: from {start!r} to {end!r} is not allowed; {told}.")
    return ends  # type: ignore[return-value]
