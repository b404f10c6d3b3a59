"""Universes: samples of the values that a paper does not state, and their runs in a tidy table.

Graphs of runs are numbers here. Light: the plan, which needs these, needs no torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

from ngo.common.lazy import Numbers, Table, np, pd, torch
from ngo.common.registries import TOPOLOGIES
from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import MixingMatrix, algebraic_connectivity
from ngo.gossip.schedule import Mixing, topologies
from ngo.training.spec import FIELDS

#: Values of a universe that are no fields of a run: which accuracy or loss is judged. Their choices
#: are columns: the mean over the workers' own models, that of their mean model, and in training.
READ_AS = {
    "accuracy_of": {"workers": "workers_accuracy_mean", "mean": "consensus_accuracy"},
    "loss_of": {"workers": "workers_loss_mean", "mean": "consensus_loss", "train": "train_loss"},
}

#: The columns with these.
CHOSEN = {"accuracy_of": "chosen_accuracy", "loss_of": "chosen_loss"}

#: Settings that follow from sampled ones: log(γw)/(2 − 2p), the logarithm of the amplitude of a
#: two-cycle on an edge of the mean weight w (``bounds.chatter_V``), and γ(1 − λ₂), with λ₂ the
#: second largest eigenvalue of the mixing matrix. Of a random graph, w and the matrix are the means
#: of ``DRAWS`` draws.
DERIVED = CHATTER_FLOOR, GAMMA_GAP = "chatter_floor", "gamma_gap"


# The graphs of runs, as numbers.

#: The graphs drawn for a topology that may never repeat.
DRAWS = 200


def known_fields(row: Numbers) -> dict[str, object]:
    """The run's fields that a row has, without missing ones.

    Whole numbers are int again: a column with a missing value has them as floats.
    """
    known = {name: row[name] for name in FIELDS if name in row and pd.notna(row[name])}
    return {name: int(x) if FIELDS[name].kind is int else x for name, x in known.items()}


def of_graphs(last: Table, number: Callable[[list[MixingMatrix]], float]) -> Numbers:
    """The number of each run's graphs, by run; NaN for centralized training.

    ``last`` has a row for each run. Of a random graph, ``DRAWS`` are drawn from one fixed stream.
    NaN also for runs whose graph changes by a schedule.
    """
    by_graph: dict[object, float] = {}
    numbers = dict.fromkeys(last["run"], math.nan)
    for _, row in last.iterrows():
        run = known_fields(row)
        fields = SimpleNamespace(**{"topology": None, **run})
        names = list(topologies(fields))
        if len(names) != 1:
            continue
        n = run["workers"]
        read = ("weights", *TOPOLOGIES[names[0]].fields)
        key = (*names, n, *(run.get(name) for name in read))
        if key not in by_graph:
            mixing = Mixing(names[0], n, fields, torch_stream(0, "graphs of claims", n))
            by_graph[key] = number(mixing.cycle(DRAWS))
        numbers[row["run"]] = by_graph[key]
    return pd.Series(numbers, dtype=float)


@dataclass(frozen=True)
class Universe:
    """One choice of all sampled values."""

    number: int
    values: Mapping[str, object]
    #: The ids of its runs.
    runs: tuple[str, ...]


def in_universes(runs: Table, universes: Sequence[Universe]) -> Table:
    """The tidy table of ``runs`` with their universes, sorted by universe, run and step.

    New columns: ``universe`` (its number), ``universe_NAME`` for each sampled value,
    ``universe_chatter_floor`` and ``universe_gamma_gap`` if γ (and p) are sampled, and those of
    ``CHOSEN``, if ``accuracy_of`` or ``loss_of`` is among the values. The rows of a run that several
    universes share are repeated.
    """
    known = set(runs["run"])
    placed = pd.DataFrame(
        {"run": run, "universe": universe.number, **columns(universe.values)}
        for universe in universes
        for run in universe.runs
        if run in known
    )
    table = runs.merge(placed, on="run")
    for name, choices in READ_AS.items():
        for choice, column in choices.items() if f"universe_{name}" in table else ():
            table.loc[table[f"universe_{name}"] == choice, CHOSEN[name]] = table[column]
    return with_derived(table).sort_values(["universe", "run", "step"], ignore_index=True)


def with_derived(table: Table) -> Table:
    """The table with ``CHATTER_FLOOR`` and ``GAMMA_GAP`` as settings, where γ and p are sampled.

    If runs of a universe with p < 1 have several graphs, it has the mean over these.
    """
    gamma, p = columns({"gamma": None, "p": None})
    if not {gamma, "p", "topology"} <= set(table) or not (table["p"] < 1).any():
        return table
    coupled = table[table["p"] < 1].drop_duplicates(["universe", "run"])
    runs = coupled.drop_duplicates("run")
    gap = coupled["run"].map(of_graphs(runs, _gap))
    derived = {GAMMA_GAP: coupled[gamma] * gap}
    if p in table:
        weight = coupled["run"].map(of_graphs(runs, _mean_weight))
        derived[CHATTER_FLOOR] = np.log(coupled[gamma] * weight) / (2 - 2 * coupled[p])
    means = {name: values.groupby(coupled["universe"]).mean() for name, values in derived.items()}
    known = columns({name: table["universe"].map(mean) for name, mean in means.items()})
    return table.assign(**{name: values for name, values in known.items() if values.notna().all()})


def _gap(cycle: list[MixingMatrix]) -> float:
    """1 − λ₂ of the mean matrix."""
    return algebraic_connectivity(sum(W.dense() for W in cycle) / len(cycle))


def _mean_weight(cycle: list[MixingMatrix]) -> float:
    return float(torch.cat([W.weights for W in cycle]).mean())


def columns(values: Mapping[str, object]) -> dict[str, object]:
    """Sampled values by the names of their columns."""
    return {f"universe_{name}": value for name, value in values.items()}
