"""Verdicts on the statements of the theorems, from what was measured."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

# V counts as vanished at or below this share of V(0).
RESIDUAL = 1e-6

# A predicted chatter floor holds if the measured one is within this factor.
FLOOR_FACTOR = 2.0


def split(whole: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables ``bounds``, ``delays``, ``gaps`` and ``floors`` of ``theory.theory_table``."""
    return {
        kind: rows.drop(columns="kind").dropna(axis=1, how="all").reset_index(drop=True)
        for kind, rows in whole.groupby("kind")
    }


def verdicts(
    bounds: pd.DataFrame, delays: pd.DataFrame, gaps: pd.DataFrame, floors: pd.DataFrame
) -> pd.DataFrame:
    """One row for each statement: its hardest case, and whether it holds in all cases.

    ``measured`` and ``theory`` are the values of the hardest case, and ``ratio`` is their quotient.
    The statement holds in ``met`` of ``cases`` cases.
    """
    records = []

    def judge(
        statement: str,
        table: pd.DataFrame,
        measured: str,
        said: str,
        met: pd.Series,
        hard: pd.Series,
    ) -> None:
        worst = table.loc[hard.idxmax()]
        records.append(
            {
                "statement": statement,
                "measured": worst[measured],
                "theory": worst[said],
                "ratio": worst[measured] / worst[said] if worst[said] else math.inf,
                "cases": len(table),
                "met": int(met.sum()),
                "verdict": "holds" if met.all() else "fails",
            }
        )

    for form, name in (
        ("paper", "Theorem 3.1: consensus by T*, as printed"),
        ("corrected", "Theorem 3.1: consensus by T*, corrected"),
        ("sharp", "Theorem 3.1: consensus by T*, sharp (twice the printed)"),
    ):
        ratio = bounds["measured"] / bounds[form]
        # The solver's times are accurate to about 1e-5. Two workers meet the sharp time exactly.
        judge(name, bounds, "measured", form, ratio <= 1 + 1e-5, ratio)

    linear = delays[delays["p"] == 1]
    if len(linear):
        off = (linear["tolerated"] - linear["limit_of_rounds"]).abs()
        judge(
            "Delay theorem: the tolerated delay to a round, p = 1",
            linear, "tolerated", "limit_of_rounds", off <= linear["gamma"], off / linear["gamma"],
        )  # fmt: skip
    for p, group in delays.groupby("p"):
        judge(
            f"Delay theorem: V vanishes at half the limit, p = {p:g}",
            group.assign(zero=0.0), "residual", "zero",
            group["residual"] <= RESIDUAL, group["residual"],
        )  # fmt: skip

    for protocol, column, statement in (
        ("centralized", "bound", "Theorem 2.1: the gap, centralized"),
        ("gossip", "bound", "Theorem 2.1: the gap, gossip"),
        ("ngo", "bound", "Theorem 3.2: the gap, NGO, V summed over all steps"),
        ("ngo", "printed", "Theorem 3.2: the gap, NGO, V summed to T*, as printed"),
    ):
        group = gaps[gaps["protocol"] == protocol]
        ratio = group["gap"] / group[column]
        judge(statement, group, "gap", column, ratio <= 1, ratio)
    ngo = gaps[(gaps["protocol"] == "ngo") & (gaps["T"] > 1)].assign(zero=0.0)
    judge("Theorem 3.2: V is 0 after T*", ngo, "V", "zero", ngo["V"] == 0, ngo["V"])

    ratio = floors["measured"] / floors["predicted"]
    distance = np.log(ratio).abs()
    judge(
        f"Chatter floor: the largest two-cycle, within a factor {FLOOR_FACTOR:g}",
        floors, "measured", "predicted", distance <= math.log(FLOOR_FACTOR), distance,
    )  # fmt: skip
    return pd.DataFrame(records)
