"""Degree and spectral gap of the three topologies by the number of workers, with
Metropolis–Hastings weights, next to the paper's numbers.

*The paper:* the ring's gap closes as n grows, and the complete graph's gap remains 1; a random
graph has degree un. *Look at* the last columns, which say whether degree and gap are as printed. A
random graph without loops has the degree u(n − 1). The paper prints no gap for random graphs.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.spectra import STANDARD_ERRORS, spectral_comparison
from ngo.plots.declaration import table
from ngo.printing.tables import dashed, number
from verdicts.row import ABSENT


@table(
    "tableS1",
    section="Supplement",
    title="Table S1: degree and spectral gap of the topologies",
    reads="spectra_tableS1",
    reference="tableS1_spectral_gap",
)
def numbers(metrics: pd.DataFrame, reference: Path) -> pd.DataFrame:
    """The measured degrees and gaps with the paper's numbers, see ``spectral_comparison``."""
    return spectral_comparison(metrics, reference)


def caption(numbers: pd.DataFrame, metrics: pd.DataFrame, reference: Path) -> str:
    """What the columns are."""
    return (
        "Table S1. Degree and spectral gap 1 − max(|λ₂|, |λ_n|), ours and the paper's; a random "
        "graph's are means over independent draws, and its gap over all draws and over the "
        "connected ones. As printed: equal after rounding to the paper's decimals; a mean degree, "
        f"within {STANDARD_ERRORS} of its standard errors. A random graph's degree is u(n − 1), "
        "not un as printed."
    )


def show(numbers: pd.DataFrame) -> pd.DataFrame:
    """The table as it is printed."""
    u = numbers["u"].map(" (u = {:g})".format).where(numbers["u"].notna(), "")
    return pd.DataFrame(
        {
            "Topology": numbers["topology"] + u,
            "n": numbers["n"].astype(str),
            "Degree": numbers["degree"].map("{:.4g}".format),
            "Paper's degree": numbers["paper_degree"].fillna(ABSENT),
            "Degree as printed": numbers["degree_agrees"].fillna(ABSENT),
            "u(n − 1)": numbers["true_degree_agrees"].where(numbers["u"].notna()).fillna(ABSENT),
            "Spectral gap": numbers["spectral_gap"].map("{:.4f}".format),
            "Connected": numbers["connected_gap"].map("{:.4f}".format),
            "Paper": dashed(numbers["paper"], "{:g}".format),
            "Difference": numbers["difference"].map(lambda d: number(d, 4, plus=True)),
            "As printed": numbers["agrees"].fillna(ABSENT),
        }
    )
