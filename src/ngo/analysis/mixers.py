"""Each coupling at its own best p and γ, in rounds without learning (``measures.rounds``)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from verdicts.rows.best_fields import best

SITUATION = ["disturbance", "strength", "topology"]
MIXER = [*SITUATION, "mixer"]
TUNED = ["p", "gamma"]

VALUES = ["V", "V_early", "V_settled"]

Mixer = str
"""A way to mix without learning: ``linear``, ``NGO`` or another coupling."""

LINEAR, NGO = "linear", "NGO"

LEAST = 1e-30
"""The share of V(0) below which V is rounding error; smaller values count as this one."""


def with_mixers(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the column ``mixer``.

    No V is below ``LEAST`` · V(0), so that all have logarithms.
    """
    start = table["round"] == 0
    first = table[start].drop_duplicates("seed").set_index("seed")["V"]
    least = LEAST * table["seed"].map(first)
    values = {name: table[name].mask(table[name] < least, least) for name in VALUES}
    return table.assign(mixer=mixers(table), **values)


def mixers(table: pd.DataFrame) -> pd.Series:
    """The mixer of each row: ``linear`` or ``NGO``, both coupling power, or else the coupling."""
    linear = table["coupling"].eq("power") & table["p"].eq(1)
    return table["coupling"].replace("power", NGO).mask(linear, LINEAR)


def ends(table: pd.DataFrame) -> pd.DataFrame:
    """One row for each case and seed: the last recorded round."""
    return table[table["round"] == table["round"].max()]


def best_cases(table: pd.DataFrame, value: str = "V_settled") -> pd.DataFrame:
    """The p and γ with the lowest ``value``, for each mixer in each situation.

    The lowest geometric mean over the first half of the seeds. A case with a value that is not
    finite comes last; ties go to the larger p, then to the smaller γ.
    """
    first = ends(table)[lambda rows: rows["seed"].isin(_halves(table)[0])]
    logs = -np.log(first[value]).where(np.isfinite(first[value]), np.inf)
    means = first.assign(score=logs).groupby([*MIXER, *TUNED])["score"].mean().reset_index()
    return best(means, TUNED, MIXER)[[*MIXER, *TUNED]].sort_values(MIXER, ignore_index=True)


def _halves(table: pd.DataFrame) -> tuple[list[int], list[int]]:
    """The seeds that choose, and those that are compared; a single seed does both."""
    seeds = sorted(table["seed"].unique())
    half = max(1, len(seeds) // 2)
    return seeds[:half], seeds[half:] or seeds


def best_rows(table: pd.DataFrame, value: str = "V_settled") -> pd.DataFrame:
    """The rows of each mixer's best case, of the seeds that ``best_cases`` does not choose by.

    A single seed both chooses and is compared.
    """
    others = table[table["seed"].isin(_halves(table)[1])]
    return others.merge(best_cases(table, value), on=[*MIXER, *TUNED])
