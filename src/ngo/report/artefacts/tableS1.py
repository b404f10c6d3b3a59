"""Table S1: degree and spectral gap of the topologies."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.spectra import STANDARD_ERRORS, spectral_comparison
from ngo.figures.output import Output
from ngo.figures.tables import number, save_table
from verdicts.row import ABSENT


def make(metrics: str | Path, reference: str | Path, tier: str, out: str | Path) -> Output:
    """Compute and save the table from the measured gaps and the paper's numbers."""
    table = spectral_comparison(pd.read_parquet(metrics), reference).assign(tier=tier)
    printed = print_gaps(table)
    save_table(
        table,
        printed,
        f"{out}/tables/tableS1",
        "Table S1. Degree and spectral gap 1 − max(|λ₂|, |λ_n|), ours and the paper's; a random "
        "graph's are means over independent draws, and its gap over all draws and over the "
        "connected ones. As printed: equal after rounding to the paper's decimals; a mean degree, "
        f"within {STANDARD_ERRORS} of its standard errors. A random graph's degree is u(n − 1), "
        f"not un as printed. Tier {tier}; no data set.",
    )
    return Output(tables=(printed,))


def print_gaps(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of ``spectra.spectral_comparison``."""
    names = [
        topology if pd.isna(u) else f"{topology} (u = {u:g})"
        for topology, u in zip(table["topology"], table["u"], strict=True)
    ]
    return pd.DataFrame(
        {
            "Topology": names,
            "n": table["n"].astype(str),
            "Degree": table["degree"].map("{:.4g}".format),
            "Paper's degree": table["paper_degree"].fillna(ABSENT),
            "Degree as printed": table["degree_agrees"].fillna(ABSENT),
            "u(n − 1)": table["true_degree_agrees"].where(table["u"].notna()).fillna(ABSENT),
            "Spectral gap": table["spectral_gap"].map("{:.4f}".format),
            "Connected": table["connected_gap"].map("{:.4f}".format),
            "Paper": table["paper"].map("{:g}".format).where(table["paper"].notna(), ABSENT),
            "Difference": table["difference"].map(lambda d: number(d, 4, plus=True)),
            "As printed": table["agrees"].fillna(ABSENT),
        }
    )
