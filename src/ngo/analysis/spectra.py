"""Degrees and spectral gaps of the topologies compared with the paper's (Table S1)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

DEGREES = {
    "2": lambda n, u: 2.0,
    "un": lambda n, u: u * n,
    "u(n-1)": lambda n, u: u * (n - 1),
    "n-1": lambda n, u: n - 1.0,
}
"""Degrees as printed, and a random graph's as it is; n is the number of workers."""

STANDARD_ERRORS = 4
"""A mean degree is as printed within this many of its standard errors."""


def spectral_comparison(spectra: pd.DataFrame, reference: str | Path) -> pd.DataFrame:
    """Table S1: our degrees and spectral gaps, and the paper's where it printed one.

    ``agrees`` says whether our gap, rounded as the paper rounded, is what it printed;
    ``degree_agrees`` the same of ``paper_degree``, and ``true_degree_agrees`` of ``true_degree``,
    u(n − 1) for a random graph (see ``is_degree``); ``undecided`` if the draws agree with both.
    """
    printed = pd.read_csv(reference, dtype={"spectral_gap": str, "node_degree": str})
    printed = printed.rename(columns={"spectral_gap": "paper", "node_degree": "paper_degree"})
    table = spectra.merge(printed, on=["topology", "n"], how="left")
    ours = [
        f"{gap:.{len(text.partition('.')[2])}f}" if pd.notna(text) else None
        for gap, text in zip(table["spectral_gap"], table["paper"], strict=True)
    ]
    agrees = pd.Series(ours, index=table.index) == table["paper"]
    table["agrees"] = _words(agrees, table["paper"].notna())
    table["paper"] = table["paper"].astype(float)
    table["difference"] = table["spectral_gap"] - table["paper"]
    known = table["paper_degree"].isin(list(DEGREES))
    table["true_degree"] = table["paper_degree"].replace({"un": "u(n-1)"})
    forms = {"degree_agrees": "paper_degree", "true_degree_agrees": "true_degree"}
    for name, form in forms.items():
        table[name] = _words(is_degree(table, table[form]), known)
    both = table[[*forms]].eq("yes").all(axis=1) & (table["paper_degree"] != table["true_degree"])
    table.loc[both, [*forms]] = "undecided"
    return table


def is_degree(spectra: pd.DataFrame, forms: pd.Series) -> pd.Series:
    """Whether the mean degree in each row is that of ``forms``, the names in ``DEGREES``.

    Equal for a fixed graph. A random graph's is a mean over ``draws`` within ``STANDARD_ERRORS``:
    the degree of a G(n, u), averaged over its nodes, has the variance 2u(1 − u)(n − 1)/n. False for
    other forms.
    """
    n, u = spectra["n"].astype(float), spectra["u"].astype(float)
    error = np.sqrt(2 * u * (1 - u) * (n - 1) / n / spectra["draws"]).fillna(0)
    expected = [
        DEGREES[form](size, chance) if form in DEGREES else np.nan
        for form, size, chance in zip(forms, n, u, strict=True)
    ]
    return (spectra["degree"] - expected).abs() <= STANDARD_ERRORS * error + 1e-9


def _words(yes: pd.Series, known: pd.Series) -> pd.Series:
    return yes.map({True: "yes", False: "no"}).where(known)
