"""Statements on consensus with delays (Section 3.3, Supplement A, Figures 3 and S1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.analysis.theory_cases import FACTOR, RESIDUAL, cases, part
from ngo.common.registry import UserError
from verdicts.quantity_registry import quantity

if TYPE_CHECKING:
    import pandas as pd

# A delay counts in whole rounds, and a round of length h lowers the limit by some h/2.
ROUNDS_OFF = 2.0


@quantity("theory_delay_limit", cases=True)
def delay_limit(table: pd.DataFrame) -> pd.DataFrame:
    """Linear consensus tolerates delays up to π/(2λ_n): the shorter the rounds, the closer."""
    rows = part(table, "limits")
    met = (rows["tolerated"] - rows["limit"]).abs() <= ROUNDS_OFF * rows["step"]
    return cases(rows, ("topology", "n", "step"), rows["tolerated"], rows["limit"], met)


@quantity("theory_delay_unit_step", cases=True)
def delay_unit_step(table: pd.DataFrame) -> pd.DataFrame:
    """The delay equation as printed, with p = 1: consensus if and only if τ ≤ π/(2λ_n).

    ``measured`` is what is left of V. It must vanish if the theorem allows the delay, and must not
    if it forbids it.
    """
    rows = part(table, "unit_steps")
    met = (rows["residual"] <= RESIDUAL) == (rows["delay"] <= rows["limit"])
    return cases(rows, ("topology", "n", "delay"), rows["residual"], RESIDUAL, met)


@quantity("theory_delay_residual", example="{linear: true}", cases=True)
def delay_residual(table: pd.DataFrame, linear: bool = False) -> pd.DataFrame:
    """V vanishes with a delay of half the limit: sublinear coupling, or ``linear``."""
    rows = part(table, "delays")
    rows = rows[rows["p"] == 1] if linear else rows[rows["p"] < 1]
    met = rows["residual"] <= RESIDUAL
    return cases(rows, ("topology", "n", "p"), rows["residual"], RESIDUAL, met)


@quantity("theory_delay_floor", cases=True)
def delay_floor(table: pd.DataFrame) -> pd.DataFrame:
    """Sublinear coupling, half the limit: V ends within a factor 2 of its floor without delay.

    The floor is that of the same rounds, or the share of V(0) that counts as vanished.
    """
    rows = part(table, "delays")
    rows = rows[rows["p"] < 1]
    limit = (FACTOR * rows["floor"]).clip(lower=RESIDUAL)
    met = rows["residual"] <= limit
    return cases(rows, ("topology", "n", "p"), rows["residual"], limit, met)


@quantity("theory_delay_marginal", example="{form: closed}", cases=True)
def delay_marginal(table: pd.DataFrame, form: str) -> pd.DataFrame:
    """Consensus for τ up to the limit: ``closed`` (≤, main text) or ``open`` (<, supplement).

    ``closed`` asks that V vanishes at 0.9 of the limit and at the limit; ``open``, that it vanishes
    at 0.9 of the limit, and does not at the limit.
    """
    if form not in ("closed", "open"):
        raise UserError(f"form: {form!r} is not allowed; it must be closed or open.")
    rows = part(table, "marginal")
    reached = rows["residual"] <= RESIDUAL
    met = reached == ((rows["share"] < 1) | (form == "closed"))
    names = ("topology", "n", "delay", "share")
    return cases(rows, names, rows["residual"], RESIDUAL, met)


@quantity("consensus_order", cases=True, example="{share: 0.01}")
def consensus_order(table: pd.DataFrame, share: float) -> pd.DataFrame:
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
def consensus_delay(table: pd.DataFrame, share: float) -> pd.DataFrame:
    """Consensus if and only if τ ≤ π/(2λ_n), on trajectories (Figure S1).

    ``measured`` is the largest V of the last tenth as a share of V(0), which counts as consensus up
    to ``share``.
    """
    rows = _ends(table)
    met = (rows["end"] <= share) == rows["allowed"]
    return cases(rows, ("p", "delay"), rows["end"], share, met)


@quantity("consensus_delay_floor", example="{share: 0.01}", cases=True)
def consensus_delay_floor(table: pd.DataFrame, share: float) -> pd.DataFrame:
    """Delays up to the limit do no harm (Figure S1): V ends within a factor 2 of V without delay.

    V below ``share`` · V(0) without delay counts as ``share``.
    """
    rows = _ends(table)
    undelayed = rows[rows["delay"] == 0].set_index("p")["end"]
    rows = rows[(rows["delay"] > 0) & rows["allowed"]]
    floor = rows["p"].map(undelayed).clip(lower=share)
    return cases(rows, ("p", "delay"), rows["end"], FACTOR * floor, rows["end"] <= FACTOR * floor)


def _ends(table: pd.DataFrame) -> pd.DataFrame:
    """For each p and delay: the largest V of the last tenth of the rounds, as a share of V(0)."""
    import numpy as np
    import pandas as pd

    from ngo.analysis.delay_limits import delay_limit_in_rounds

    limit = delay_limit_in_rounds(table)
    records = []
    for (p, delay), rows in table.groupby(["p", "delay"]):
        V = rows.drop_duplicates("round").sort_values("round")["V"].to_numpy()
        end = V[-max(1, len(V) // 10) :].max() / V[0]
        end = np.inf if np.isnan(end) else end
        records.append({"p": p, "delay": delay, "end": end, "allowed": delay <= limit})
    return pd.DataFrame(records)
