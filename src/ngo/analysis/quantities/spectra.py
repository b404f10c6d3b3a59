"""Degrees and spectral gaps of topologies against the printed ones (Table S1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.common.registry import UserError, unknown
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases

if TYPE_CHECKING:
    import pandas as pd

REFERENCE = "config/reference/tableS1_spectral_gap.csv"

DEGREES = ("un", "u(n-1)")

CASE = ("topology", "n")


@quantity("printed_gaps", cases=True)
def printed_gaps(rows: pd.DataFrame, reference: str = REFERENCE) -> pd.DataFrame:
    """One case for each printed gap: ours, rounded as the paper rounded, is what it printed."""
    import pandas as pd

    from ngo.analysis.spectra import spectral_comparison

    if rows.merge(pd.read_csv(reference)[list(CASE)]).empty:
        raise UserError(f"workers: {reference} has none of these graphs.")
    table = spectral_comparison(rows, reference)
    table = table[table["paper"].notna()]
    return cases(table, CASE, table["spectral_gap"], table["paper"], table["agrees"] == "yes")


@quantity("smallest_gap", example="{topology: ring}", cases=True)
def smallest_gap(rows: pd.DataFrame, topology: str = "ring") -> pd.DataFrame:
    """One case for each n: the gap of ``topology`` against the smallest of the other topologies."""
    wide = rows.pivot(index="n", columns="topology", values="spectral_gap")
    if topology not in wide:
        raise unknown("topology", topology, map(str, wide.columns))
    others = wide.drop(columns=topology).min(axis=1)
    table = wide.reset_index().assign(topology=topology)
    ours, others = wide[topology].reset_index(drop=True), others.reset_index(drop=True)
    return cases(table, CASE, ours, others, ours < others)


@quantity("random_degrees", example="{form: un}", cases=True)
def random_degrees(rows: pd.DataFrame, form: str = "un") -> pd.DataFrame:
    """One case for each random graph: its mean degree against un or u(n − 1).

    Met within four standard errors of the mean over the draws: the degree of a G(n, u), averaged
    over its nodes, has the variance 2u(1 − u)(n − 1)/n.
    """
    import numpy as np

    if form not in DEGREES:
        raise unknown("form", form, DEGREES)
    table = rows[rows["topology"] == "random"]
    n, u = table["n"], table["u"]
    expected = u * n if form == "un" else u * (n - 1)
    error = np.sqrt(2 * u * (1 - u) * (n - 1) / n / table["draws"])
    met = (table["degree"] - expected).abs() <= 4 * error
    return cases(table, CASE, table["degree"], expected, met)
