"""Degrees and spectral gaps of the topologies, beside the paper's (Table S1)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from ngo.statistics import estimate


def spectral_table(
    topologies: Iterable[str], workers: Iterable[int], u: float, draws: int, seed: int
) -> pd.DataFrame:
    """Degree and spectral gap by topology and n (Table S1).

    A random topology's are means over ``draws`` graphs from the stream (seed, "spectra", n).
    """
    from ngo.graphs import TOPOLOGIES, metropolis_hastings, spectral_gap
    from ngo.seeding import torch_stream

    records = []
    for name in topologies:
        entry = TOPOLOGIES[name]
        for n in workers:
            generator = torch_stream(seed, "spectra", n)
            graphs = (
                [entry.edges(n, u, generator) for _ in range(draws)]
                if entry.random
                else [entry.edges(n)]
            )
            gaps = [spectral_gap(metropolis_hastings(n, graph)) for graph in graphs]
            degrees = [2 * len(graph) / n for graph in graphs]
            records.append(
                {
                    "topology": name,
                    "u": u if entry.random else float("nan"),
                    "n": n,
                    "draws": len(graphs),
                    "degree": estimate(degrees).mean,
                    "spectral_gap": estimate(gaps).mean,
                    "spectral_gap_std": estimate(gaps).std,
                }
            )
    return pd.DataFrame(records)


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
