"""Styles of cases that differ in method and topology: a colour for each method, a line and a
marker for each topology.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from ngo.analysis.row_order import TOPOLOGY_ORDER
from ngo.figures.curve_panels import Cases, by_method
from ngo.figures.style import LINES, MARKERS


def by_topology(table: pd.DataFrame) -> Cases:
    """The rows of each method and topology with their style; without a topology, the method's.

    The topologies of the paper come first, and look the same in every figure.
    """
    present = table["topology"].dropna().unique()
    topologies = [*TOPOLOGY_ORDER, *sorted(set(present) - set(TOPOLOGY_ORDER))]
    cases: Cases = []
    for look, rows in by_method(table):
        alone = rows[rows["topology"].isna()]
        cases += [(look, alone)] if len(alone) else []
        for k, topology in enumerate(topologies):
            own = rows[rows["topology"] == topology]
            style = replace(
                look,
                label=f"{look.label}, {topology}",
                line=LINES[k % len(LINES)],
                marker=MARKERS[k % len(MARKERS)],
            )
            cases += [(style, own)] if len(own) else []
    return cases
