"""Statements on trajectories of consensus (Figures 3 and S1)."""

from __future__ import annotations

from ngo.common.types import Table
from ngo.theorems.theorem import FACTOR
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases


@quantity("consensus_order", cases=True, example="{share: 0.01}")
def consensus_order(table: Table, share: float) -> Table:
    """The smaller p, the sooner V ≤ ``share`` · V(0), on one trajectory for each p (Figure 3).

    ``measured`` is the first round of a p, and ``limit`` that of the next smaller p. A p that does
    not get there within the trajectory has infinity.
    """
    import numpy as np

    from ngo.analysis.dynamics import consensus_rounds

    table = table[table["delay"] == table["delay"].min()]
    rounds = consensus_rounds(table, share).sort_values("p")
    first = rounds["first_round"].fillna(np.inf)
    rows = rounds.iloc[1:]
    measured, limit = first.to_numpy()[1:], first.to_numpy()[:-1]
    return cases(rows, ("p",), measured, limit, measured > limit)


@quantity("consensus_delay", cases=True, example="{share: 0.01}")
def consensus_delay(table: Table, share: float) -> Table:
    """Consensus if and only if τ ≤ π/(2λ_n), on trajectories (Figure S1).

    ``measured`` is the largest V of the last tenth as a share of V(0), which counts as consensus up
    to ``share``.
    """
    rows = _ends(table)
    met = (rows["end"] <= share) == rows["allowed"]
    return cases(rows, ("p", "delay"), rows["end"], share, met)


@quantity("consensus_delay_floor", example="{share: 0.01}", cases=True)
def consensus_delay_floor(table: Table, share: float) -> Table:
    """Delays up to the limit do no harm (Figure S1): V ends within a factor 2 of V without delay.

    V below ``share`` · V(0) without delay counts as ``share``.
    """
    rows = _ends(table)
    undelayed = rows[rows["delay"] == 0].set_index("p")["end"]
    rows = rows[(rows["delay"] > 0) & rows["allowed"]]
    floor = rows["p"].map(undelayed).clip(lower=share)
    return cases(rows, ("p", "delay"), rows["end"], FACTOR * floor, rows["end"] <= FACTOR * floor)


def _ends(table: Table) -> Table:
    """For each p and delay: the largest V of the last tenth of the rounds, as a share of V(0)."""
    import numpy as np
    import pandas as pd

    from ngo.analysis.dynamics import delay_limit_in_rounds

    limit = delay_limit_in_rounds(table)
    records = []
    for (p, delay), rows in table.groupby(["p", "delay"]):
        V = rows.drop_duplicates("round").sort_values("round")["V"].to_numpy()
        end = V[-max(1, len(V) // 10) :].max() / V[0]
        end = np.inf if np.isnan(end) else end
        records.append({"p": p, "delay": delay, "end": end, "allowed": delay <= limit})
    return pd.DataFrame(records)
