"""Table 1: test accuracy by topology and method."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.criteria import ACCURACY
from ngo.analysis.published import sole_dataset
from ngo.figures import captions
from ngo.figures.comparison_tables import save_comparison
from ngo.figures.output import Output


def make(metrics: str | Path, reference: str | Path, tier: str, out: str | Path) -> Output:
    """Compute and save the table from the metrics of runs and the paper's numbers."""
    runs = pd.read_parquet(metrics)
    made_by = captions.made_by(tier, runs, sole_dataset(reference))
    printed = save_comparison(
        runs,
        reference,
        [ACCURACY],
        tier,
        f"{out}/tables/table1",
        f"Table 1. Test accuracy in percent, {captions.mean_over_seeds(runs)}: the consensus "
        "model's, the workers' own, and the paper's. NGO − gossip is paired by seed. "
        f"{made_by}",
    )
    return Output(tables=(printed,))
