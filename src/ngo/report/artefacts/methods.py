"""Each method with linear and with nonlinear gossip, at its own best p, γ and learning rate."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.combinations import combination_table
from ngo.figures.combinations import make_combinations
from ngo.figures.output import Output
from ngo.figures.style import house_style


@house_style()
def make(mnist: str | Path, cifar10: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure and the table from the metrics of runs on both data sets."""
    runs = pd.concat([pd.read_parquet(path) for path in (mnist, cifar10)], ignore_index=True)
    return make_combinations("methods", combination_table(runs), runs, tier, out)
