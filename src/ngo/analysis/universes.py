"""Universes: samples of the values that a paper does not state, and their runs in a tidy table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ngo.common.lazy import Table, pd

#: The value of a universe that is no field of a run: which accuracy is judged.
ACCURACY_OF = "accuracy_of"

#: Its values: the mean of the workers' own models' accuracies, or that of their mean model.
ACCURACIES = {"workers": "workers_accuracy_mean", "mean": "consensus_accuracy"}

#: The column with this accuracy.
CHOSEN = "chosen_accuracy"


@dataclass(frozen=True)
class Universe:
    """One choice of all sampled values."""

    number: int
    values: Mapping[str, object]
    #: The ids of its runs.
    runs: tuple[str, ...]


def in_universes(runs: Table, universes: Sequence[Universe]) -> Table:
    """The tidy table of ``runs`` with their universes, sorted by universe, run and step.

    New columns: ``universe`` (its number), ``universe_NAME`` for each sampled value, and
    ``chosen_accuracy``, that of which ``accuracy_of`` tells, if it is among the values. The rows of
    a run that several universes share are repeated.
    """
    known = set(runs["run"])
    placed = pd.DataFrame(
        {"run": run, "universe": universe.number, **columns(universe.values)}
        for universe in universes
        for run in universe.runs
        if run in known
    )
    table = runs.merge(placed, on="run")
    of = f"universe_{ACCURACY_OF}"
    if of in table:
        for choice, column in ACCURACIES.items():
            table.loc[table[of] == choice, CHOSEN] = table[column]
    return table.sort_values(["universe", "run", "step"], ignore_index=True)


def columns(values: Mapping[str, object]) -> dict[str, object]:
    """Sampled values by the names of their columns."""
    return {f"universe_{name}": value for name, value in values.items()}
