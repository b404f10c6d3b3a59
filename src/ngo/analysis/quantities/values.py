"""The numbers of a training run that claims are about: accuracies, losses, V, times, fluctuations.

Accuracies are in percent. A diverged run has the worst value: −inf for an accuracy, inf for V, a
loss or a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields

import numpy as np

from ngo.analysis.budgets import time_to
from ngo.analysis.universes import CHOSEN, of_graphs
from ngo.common.lazy import Numbers, Table, pd
from ngo.gossip.mixing_matrix import effective_neighbours, spectral_gap
from ngo.training.evaluation import Evaluation
from verdicts.registry import UserError
from verdicts.run_values import SHARE, UNITS, VALUES, RunValue, at_the_end

POINTS = "points"

#: Nats, or a squared error: the task of a run says which.
LOSS = "of loss"

for _name, _column, _factor, _worst, _unit in (
    ("accuracy", "consensus_accuracy", 100.0, -math.inf, POINTS),
    ("workers_accuracy", "workers_accuracy_mean", 100.0, -math.inf, POINTS),
    (*2 * [CHOSEN["accuracy_of"]], 100.0, -math.inf, POINTS),  # of universes
    ("loss", "consensus_loss", 1.0, math.inf, LOSS),
    ("workers_loss", "workers_loss_mean", 1.0, math.inf, LOSS),
    ("train_loss", "train_loss", 1.0, math.inf, LOSS),
    (*2 * [CHOSEN["loss_of"]], 1.0, math.inf, LOSS),  # of universes
    ("V", "V", 1.0, math.inf, ""),
):
    VALUES.add(_name, RunValue(at_the_end(_column, _factor), _worst, unit=_unit))

for _column in (field.name for field in fields(Evaluation)):
    if "accuracy" in _column or "loss" in _column:
        UNITS[_column] = SHARE if "accuracy" in _column else LOSS


def _best_accuracy(rows: Table, last: Table) -> Numbers:
    """The highest test accuracy of the consensus model in any evaluation, in percent."""
    return 100 * rows.groupby("run")["consensus_accuracy"].max()


def _merge_gain(rows: Table, last: Table) -> Numbers:
    """The test accuracy of the mean model − the mean of the workers' at the end, in points."""
    last = last.set_index("run")
    return 100 * (last["consensus_accuracy"] - last["workers_accuracy_mean"])


def _edges(rows: Table, last: Table) -> Numbers:
    """The mean number of edges in a step: each carries two models."""
    last = last.set_index("run")
    return last["messages"] / last["step"] / 2


VALUES.add("best_accuracy", RunValue(_best_accuracy, -math.inf, unit=POINTS))
VALUES.add("merge_gain", RunValue(_merge_gain, -math.inf, unit=POINTS))
VALUES.add("edges", RunValue(_edges, math.nan, unit="edges"))


def _time_to(clock: str, column: str, unit: float) -> Callable[[Table, Table, float], Numbers]:
    """When a column first reaches a target, given in units of ``unit`` (Table A1, Figure A2)."""

    def read(rows: Table, last: Table, target: float) -> Numbers:
        if clock not in rows or rows[clock].isna().any():
            raise UserError(f"{clock}: not all of these runs have it; it needs the field clock.")
        return time_to(rows, target * unit, column, clock)

    target = "x" if unit == 1 else "x %"
    read.__doc__ = f"The first {clock} with {column} at {target}; linear between evaluations."
    return read


for _name, _clock in (
    *(("steps", "step"), ("epochs", "epoch")),
    *(("virtual_seconds", "virtual_seconds"), ("joules", "joules"), ("bytes", "bytes_sent")),
):
    for _target, _column, _factor in (
        ("accuracy", "consensus_accuracy", 0.01),
        ("loss", "consensus_loss", 1.0),
    ):
        _read = _time_to(_clock, _column, _factor)
        _unit = _name.replace("_", " ")
        VALUES.add(f"{_name}_to_{_target}", RunValue(_read, math.inf, argument=True, unit=_unit))


def _by_run(rows: Table, number: Callable[[Table], float]) -> Numbers:
    """The number of each run's evaluations."""
    return pd.Series({run: number(group) for run, group in rows.groupby("run")})


def _fluctuation(rows: Table, last: Table) -> Numbers:
    """Root mean square of the changes of accuracy in the second half of a run, in points.

    NaN with fewer than three changes.
    """

    def fluctuation(run: Table) -> float:
        second_half = run["step"] >= run["step"].iloc[-1] / 2
        changes = np.diff(100 * run.loc[second_half, "consensus_accuracy"])
        return float(np.sqrt(np.mean(changes**2))) if len(changes) >= 3 else np.nan

    return _by_run(rows, fluctuation)


def _late_fall(rows: Table, last: Table, column: str) -> Numbers:
    """How much the column x falls in the last fifth of a run; linear between evaluations."""

    def fall(run: Table) -> float:
        steps, values = run["step"].to_numpy(float), run[column].to_numpy(float)
        return float(np.interp(0.8 * steps[-1], steps, values) - values[-1])

    return _by_run(rows, fall)


VALUES.add("late_fall", RunValue(_late_fall, math.inf, True))
VALUES.add("fluctuation", RunValue(_fluctuation, math.inf, unit=POINTS))


# The graphs of runs, to be compared with what the runs reached.


def _spectral_gap(rows: Table, last: Table) -> Numbers:
    """1 − the second largest modulus of W's eigenvalues; the mean over graphs that change."""
    return of_graphs(last, lambda cycle: sum(map(spectral_gap, cycle)) / len(cycle))


def _effective_neighbours(rows: Table, last: Table, decay: float) -> Numbers:
    """n_W(γ) at the decay γ (Vogels et al. 2022), see ``mixing_matrix.effective_neighbours``."""
    return of_graphs(last, lambda cycle: effective_neighbours(cycle, decay))


VALUES.add("spectral_gap", RunValue(_spectral_gap, math.nan))
VALUES.add("effective_neighbours", RunValue(_effective_neighbours, math.nan, argument=True))
