"""Statements on γ, random, switching and failing networks (Section 3.3, Supplement A)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.analysis.theory_cases import FACTOR, RESIDUAL, by_seed, cases, part
from ngo.common.registry import UserError
from verdicts.quantity_registry import quantity

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-9


@quantity("theory_degree_limit", cases=True)
def degree_limit(table: pd.DataFrame) -> pd.DataFrame:
    """Discrete linear consensus is reached for 0 < γ < 1/Δ (Supplement A).

    The theorem claims nothing for larger γ; those rows are no cases.
    """
    rows = part(table, "degrees")
    rows = rows[rows["share"] < 1]
    names = ("topology", "n", "weights", "share")
    return cases(rows, names, rows["residual"], RESIDUAL, rows["residual"] <= RESIDUAL)


@quantity("theory_random_system", example="{form: printed}", cases=True)
def random_system(table: pd.DataFrame, form: str) -> pd.DataFrame:
    """The random system reaches consensus with probability 1 (Section 3.3).

    ``form``: printed (weights 0 or 1, no γ) or amended (Metropolis weights and γ).
    """
    rows = part(table, "random")
    forms = sorted(rows["form"].unique())
    if form not in forms:
        raise UserError(f"form: {form!r} is not allowed; it must be one of {', '.join(forms)}.")
    rows = rows[rows["form"] == form]
    met = rows["residual"] <= RESIDUAL
    return cases(rows, ("n", "p", "seed"), rows["residual"], RESIDUAL, met)


@quantity("theory_switching", cases=True)
def switching(table: pd.DataFrame) -> pd.DataFrame:
    """On switching graphs consensus is at least as fast as λ₂* (Supplement A)."""
    rows = part(table, "switches")
    met = rows["rate"] >= rows["limit"] * (1 - ROUNDING)
    return cases(rows, ("signal", "seed"), rows["rate"], rows["limit"], met)


@quantity("theory_switching_lead", unit="log ratio")
def switching_lead(table: pd.DataFrame) -> pd.Series:
    """Per random signal: log of the rate of consensus over λ₂*."""
    import numpy as np

    rows = part(table, "switches")
    rows = rows[rows["signal"] == "random"].set_index("seed")
    return by_seed(np.log(rows["rate"] / rows["limit"]))


@quantity("theory_link_failures", cases=True)
def link_failures(table: pd.DataFrame) -> pd.DataFrame:
    """V vanishes though links fail at random (Section 3.3).

    For p < 1, V may also end at twice the floor of the same rounds without failures.
    """
    rows = part(table, "failures")
    limit = (FACTOR * rows["without"]).where(rows["p"] < 1, 0).clip(lower=RESIDUAL)
    names = ("topology", "n", "p")
    return cases(rows, names, rows["residual"], limit, rows["residual"] <= limit)
