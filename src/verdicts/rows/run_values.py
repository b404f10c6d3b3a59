"""One number of each run: its accuracy, V or loss at the end, or a number of its whole curve.

The workflow reads the names before anything is trained: pandas is imported inside the functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verdicts.registry import Registry, UserError, nearest

if TYPE_CHECKING:
    import pandas as pd

Value = str | Mapping[str, object]
"""A name in ``VALUES``, or a mapping of one name to its argument, such as ``{epochs_to: 90}``."""


@dataclass(frozen=True)
class RunValue:
    """How a number is read from the evaluations of each run."""

    #: From all evaluations, sorted by step, the last ones, and the argument: a Series indexed by
    #: run.
    read: Callable[..., pd.Series]
    #: The value of a diverged run: the worst that there is.
    worst: float
    #: Whether ``read`` takes an argument.
    argument: bool = False


VALUES: Registry[RunValue] = Registry("value")


def _ends(column: str, factor: float = 1.0) -> Callable[[pd.DataFrame], pd.Series]:
    return lambda rows, last: factor * last.set_index("run")[column]


for _name, _column in (
    ("accuracy", "consensus_accuracy"),
    ("workers_accuracy", "workers_accuracy_mean"),
):
    VALUES.add(_name, RunValue(_ends(_column, 100.0), -np.inf))
for _name, _column in (
    ("loss", "consensus_loss"),
    ("workers_loss", "workers_loss_mean"),
    ("train_loss", "train_loss"),
    ("V", "V"),
):
    VALUES.add(_name, RunValue(_ends(_column), np.inf))


def per_run(metrics: pd.DataFrame, value: Value) -> pd.DataFrame:
    """The last evaluation of every run, with its number in the column ``value``.

    Accuracies are in percent. A diverged run has the worst value: −inf for an accuracy, inf for V,
    a loss or a time. In a table without runs (of a measurement), each row is one, and ``value`` is
    a column. Raises a UserError for an unknown name, and for an argument too many or too few.
    """
    if "run" not in metrics:
        if value not in metrics:
            raise UserError(f"value: there is no column {value!r}.{nearest(value, metrics)}")
        return metrics.assign(value=metrics[value].astype(float), run=metrics.index.astype(str))
    from verdicts.rows.evaluations import final

    name, arguments = parsed(value)
    rows = metrics.sort_values(["run", "step"], kind="stable")
    last = final(rows)
    try:
        found = last["run"].map(VALUES[name].read(rows, last, *arguments))
    except KeyError as error:
        raise UserError(f"value: {name!r} needs the column {error}, which the rows lack.") from None
    diverged = last["diverged"].astype(bool)
    return last.assign(value=found.astype(float).mask(diverged, VALUES[name].worst))


def highest_is_best(value: Value) -> bool:
    """Whether a higher value is better: an accuracy."""
    return VALUES[parsed(value)[0]].worst == -np.inf


def parsed(value: Value) -> tuple[str, list]:
    """The name and the arguments of a value; a one-line UserError for a mistake."""
    if isinstance(value, Mapping):
        if len(value) != 1:
            raise UserError(f"value: {dict(value)!r} is not allowed; give one name, or NAME: x.")
        ((name, argument),) = value.items()
        arguments = [argument]
    else:
        name, arguments = value, []
    if VALUES[name].argument != bool(arguments):
        needs = "an argument (NAME: x)" if VALUES[name].argument else "no argument"
        raise UserError(f"value: {name!r} takes {needs}.")
    return name, arguments


def _best_accuracy(rows: pd.DataFrame, last: pd.DataFrame) -> pd.Series:
    """The highest test accuracy of the consensus model in any evaluation, in percent."""
    return 100 * rows.groupby("run")["consensus_accuracy"].max()


def _accuracy_spread(rows: pd.DataFrame, last: pd.DataFrame) -> pd.Series:
    """The best worker's test accuracy − the worst worker's at the end, in points."""
    last = last.set_index("run")
    return 100 * (last["workers_accuracy_max"] - last["workers_accuracy_min"])


def _merge_gain(rows: pd.DataFrame, last: pd.DataFrame) -> pd.Series:
    """The test accuracy of the mean model − the mean of the workers' at the end, in points."""
    last = last.set_index("run")
    return 100 * (last["consensus_accuracy"] - last["workers_accuracy_mean"])


def _edges(rows: pd.DataFrame, last: pd.DataFrame) -> pd.Series:
    """The mean number of edges in a step: each carries two models."""
    last = last.set_index("run")
    return last["messages"] / last["step"] / 2


VALUES.add("best_accuracy", RunValue(_best_accuracy, -np.inf))
VALUES.add("accuracy_spread", RunValue(_accuracy_spread, np.inf))
VALUES.add("merge_gain", RunValue(_merge_gain, -np.inf))
VALUES.add("edges", RunValue(_edges, np.nan))


def _time_to(
    clock: str, column: str, unit: float
) -> Callable[[pd.DataFrame, pd.DataFrame, float], pd.Series]:
    """When a column first reaches a target, given in units of ``unit`` (Table A1, Figure A2)."""

    def read(rows: pd.DataFrame, last: pd.DataFrame, target: float) -> pd.Series:
        from verdicts.rows.times import time_to

        return time_to(rows, target * unit, column, clock)

    return read


for _clock in ("step", "epoch"):
    _accuracy = RunValue(_time_to(_clock, "consensus_accuracy", 0.01), np.inf, argument=True)
    _loss = RunValue(_time_to(_clock, "consensus_loss", 1.0), np.inf, argument=True)
    VALUES.add(f"{_clock}s_to_accuracy", _accuracy)
    VALUES.add(f"{_clock}s_to_loss", _loss)


def _at_share(rows: pd.DataFrame, last: pd.DataFrame, share: float) -> pd.Series:
    """Test accuracy in percent after a share of the run's steps, linear between evaluations."""
    import pandas as pd

    return pd.Series(
        {
            run: 100
            * np.interp(
                share * group["step"].iloc[-1],
                group["step"].to_numpy(float),
                group["consensus_accuracy"].to_numpy(float),
            )
            for run, group in rows.groupby("run")
        }
    )


VALUES.add("accuracy_at_share", RunValue(_at_share, -np.inf, argument=True))


def _second_half_changes(rows: pd.DataFrame) -> dict[str, np.ndarray]:
    """The changes of accuracy from evaluation to evaluation in the second half of each run."""
    return {
        run: np.diff(
            100 * group.loc[group["step"] >= group["step"].iloc[-1] / 2, "consensus_accuracy"]
        )
        for run, group in rows.groupby("run")
    }


def _fluctuation(rows: pd.DataFrame, last: pd.DataFrame) -> pd.Series:
    """Root mean square of the changes of accuracy in the second half of a run, in points.

    NaN with fewer than three changes.
    """
    import pandas as pd

    return pd.Series(
        {
            run: float(np.sqrt(np.mean(changes**2))) if len(changes) >= 3 else np.nan
            for run, changes in _second_half_changes(rows).items()
        }
    )


def _lag1(rows: pd.DataFrame, last: pd.DataFrame) -> pd.Series:
    """Lag-1 autocorrelation of the changes of accuracy in the second half of a run.

    −1 if accuracy alternates. About −1/2 if it is noise about a level, so a negative value alone
    does not show an oscillation. NaN with fewer than four changes, or if none differs.
    """
    import pandas as pd

    found = {}
    for run, changes in _second_half_changes(rows).items():
        square = float(np.sum(changes**2))
        enough = len(changes) >= 4 and square > 0
        found[run] = float(np.sum(changes[1:] * changes[:-1])) / square if enough else np.nan
    return pd.Series(found)


VALUES.add("fluctuation", RunValue(_fluctuation, np.inf))
VALUES.add("lag1", RunValue(_lag1, np.nan))
