"""Training that is disturbed: late messages, failing links, absent workers, compression."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.combinations import combination_table, disturbances
from ngo.figures.combinations import make_combinations
from ngo.figures.output import Output
from ngo.figures.style import house_style


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure and the table from the metrics of runs."""
    runs = pd.read_parquet(metrics)
    ends = runs.drop_duplicates("run").set_index("run")
    table = combination_table(
        runs.assign(disturbance=runs["run"].map(disturbances(ends))), ["disturbance"]
    )
    return make_combinations(
        "disturbed", table, runs, tier, out, row="disturbance", Disturbance="disturbance"
    )
