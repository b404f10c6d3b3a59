"""Numbers of the graphs of runs, as values of claims: spectral gap and effective neighbours.

They say of each run what its graph promises, to be compared with what the run reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ngo.common.types import Numbers, Table
from verdicts.rows.run_values import VALUES, RunValue

if TYPE_CHECKING:
    from ngo.gossip.mixing_matrix import MixingMatrix


#: The graphs drawn for a topology that may never repeat.
DRAWS = 200


def _of_graphs(last: Table, number: Callable[[list[MixingMatrix]], float]) -> Numbers:
    """The number of each run's graphs, by run; NaN for centralized training.

    Also NaN for runs whose graph changes by a schedule.
    """
    import pandas as pd

    from ngo.analysis.network_time import known_fields
    from ngo.common.seeding import torch_stream
    from ngo.gossip.schedule import topologies
    from ngo.gossip.topology import TOPOLOGIES, Mixing

    known: dict[object, float] = {}
    found = {}
    for _, row in last.iterrows():
        run = known_fields(row)
        fields = SimpleNamespace(**{"topology": None, **run})
        names = list(topologies(fields))
        if len(names) != 1:
            found[row["run"]] = math.nan
            continue
        n = run["workers"]
        read = ("weights", *TOPOLOGIES[names[0]].fields)
        key = (*names, n, *(run.get(name) for name in read))
        if key not in known:
            mixing = Mixing(names[0], n, fields, torch_stream(0, "graphs of claims", n))
            known[key] = number(mixing.cycle(DRAWS))
        found[row["run"]] = known[key]
    return pd.Series(found, dtype=float)


def _spectral_gap(rows: Table, last: Table) -> Numbers:
    """1 − the second largest modulus of W's eigenvalues; the mean over graphs that change."""
    from ngo.gossip.spectrum import spectral_gap

    return _of_graphs(last, lambda cycle: sum(map(spectral_gap, cycle)) / len(cycle))


def _effective_neighbours(rows: Table, last: Table, decay: float) -> Numbers:
    """n_W(γ) at the decay γ (Vogels et al. 2022), see ``spectrum.effective_neighbours``."""
    from ngo.gossip.spectrum import effective_neighbours

    return _of_graphs(last, lambda cycle: effective_neighbours(cycle, decay))


VALUES.add("spectral_gap", RunValue(_spectral_gap, math.nan))
VALUES.add("effective_neighbours", RunValue(_effective_neighbours, math.nan, argument=True))
