"""The graphs of the runs in a tidy table, as numbers. Light: the plan needs no torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace

from ngo.common.lazy import Numbers, Table, pd
from ngo.common.registries import TOPOLOGIES
from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.schedule import topologies
from ngo.gossip.topology import Mixing
from ngo.training.spec import FIELDS

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
    numbers = {}
    for _, row in last.iterrows():
        run = known_fields(row)
        fields = SimpleNamespace(**{"topology": None, **run})
        names = list(topologies(fields))
        if len(names) != 1:
            numbers[row["run"]] = math.nan
            continue
        n = run["workers"]
        read = ("weights", *TOPOLOGIES[names[0]].fields)
        key = (*names, n, *(run.get(name) for name in read))
        if key not in by_graph:
            mixing = Mixing(names[0], n, fields, torch_stream(0, "graphs of claims", n))
            by_graph[key] = number(mixing.cycle(DRAWS))
        numbers[row["run"]] = by_graph[key]
    return pd.Series(numbers, dtype=float)
