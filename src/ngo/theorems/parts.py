"""What measures the rows of each kind of the table of ``ngo theory``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ngo.common.lazy import Table
from ngo.theorems import continuous, delays, descent, rounds
from ngo.theorems.kinds import KINDS

if TYPE_CHECKING:
    from ngo.measures.theory_table import TheoryOptions

PARTS = {
    "bounds": continuous.consensus_times,
    "delays": delays.delays,
    "gaps": descent.gaps,
    "floors": rounds.chatter_floors,
    "decays": rounds.decays,
    "means": continuous.means,
    "orders": continuous.consensus_order,
    "logs": continuous.exponential_decay,
    "sums": descent.sums,
    "speedup": descent.gaps_by_workers,
    "races": descent.races,
    "descents": descent.descents,
    "spreads": descent.spreads,
    "degrees": rounds.degrees,
    "limits": delays.limits,
    "unit_steps": delays.unit_steps,
    "marginal": delays.marginal,
    "random": rounds.random_graphs,
    "switches": continuous.switches,
    "failures": rounds.failures,
}
"""For each kind, the function of the options that yields the values of its columns, row by row."""


def table_of(kind: str, options: TheoryOptions) -> Table:
    """The rows of a kind."""
    return pd.DataFrame(list(PARTS[kind](options)), columns=list(KINDS[kind]))
