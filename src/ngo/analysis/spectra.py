"""Spectral gaps of the topologies beside the paper's (Table S1)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd


def spectral_comparison(spectra: pd.DataFrame, reference: str | Path) -> pd.DataFrame:
    """Table S1: our degrees and spectral gaps, and the paper's where it printed one.

    ``agrees`` says whether ours, rounded as the paper rounded, is what it printed.
    """
    printed = pd.read_csv(reference, dtype={"spectral_gap": str})
    printed = printed.rename(columns={"spectral_gap": "paper", "node_degree": "paper_degree"})
    table = spectra.merge(printed, on=["topology", "n"], how="left")
    decimals = table["paper"].str.partition(".")[2].str.len()
    ours = [
        f"{gap:.{int(places)}f}" if pd.notna(places) else None
        for gap, places in zip(table["spectral_gap"], decimals, strict=True)
    ]
    agrees = pd.Series(ours, index=table.index) == table["paper"]
    table["agrees"] = agrees.map({True: "yes", False: "no"}).where(table["paper"].notna())
    table["paper"] = table["paper"].astype(float)
    table["difference"] = table["spectral_gap"] - table["paper"]
    return table
