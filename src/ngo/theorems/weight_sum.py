"""Supplement A: S_T of Theorems 2.1 and 3.2 has a closed form, and is at least T³/3."""

from __future__ import annotations

from ngo.common.types import Table
from ngo.theorems.sgd_problem import spaced
from ngo.theorems.theorem import Options, Rows, part, rows_of
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases

# The offset a of both theorems is at least 16 L/μ.
OFFSETS = (16.0, 50.0, 400.0)

# The error of a sum in floating point.
ROUNDING = 1e-12


@part("sums", "T", "a", "summed", "closed", "least")
def sums(s: Options) -> Rows:
    """Σ_{t<T} (a + t)² added up, its closed form and T³/3, for ``points`` values of T."""
    import numpy as np

    from ngo.gossip import bounds

    for a in OFFSETS:
        for T in spaced(1, s.steps, s.points):
            summed = float(((a + np.arange(T)) ** 2).sum())
            closed = bounds.weight_sum(T, a)
            yield T, a, summed, closed, T**3 / 3


@quantity("theory_weight_sum", cases=True)
def weight_sum(table: Table) -> Table:
    """S_T = Σ_{t<T} (a + t)² has the printed closed form, and is at least T³/3 (Supplement A)."""
    import pandas as pd

    rows = rows_of(table, "sums")
    closed = (rows["closed"] - rows["summed"]).abs() <= ROUNDING * rows["summed"]
    equal = cases(rows, ("a", "T"), rows["closed"], rows["summed"], closed)
    least = cases(rows, ("a", "T"), rows["summed"], rows["least"], rows["summed"] >= rows["least"])
    least["case"] += ", against T³/3"
    return pd.concat([equal, least], ignore_index=True)
