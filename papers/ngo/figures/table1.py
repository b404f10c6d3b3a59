"""Test accuracy in percent by data set, partition, topology and method, of the consensus model
(the mean of the workers' models) and of the workers, next to the paper's numbers.

*The paper:* NGO is above gossip in every cell, and centralized learning above both. *Look at* the
difference NGO − gossip, paired by seed. For non-iid data, also look at the classes covered: few
images are used, and the seed selects them.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.comparisons import comparison_table
from ngo.analysis.criteria import ACCURACY
from ngo.plots import captions
from ngo.plots.comparison_tables import print_comparison as show  # noqa: F401
from ngo.plots.declaration import table


@table(
    "table1",
    section="5.1 Experimental setup",
    title="Table 1: test accuracy by topology and method",
    reference="table1_classification",
)
def numbers(metrics: pd.DataFrame, reference: Path) -> pd.DataFrame:
    """Accuracies and their differences by cell, see ``comparison_table``."""
    return comparison_table(metrics, reference, [ACCURACY])


def caption(numbers: pd.DataFrame, metrics: pd.DataFrame, reference: Path) -> str:
    """What the columns are."""
    return (
        f"Table 1. Test accuracy in percent, {captions.mean_over_seeds(metrics)}: the consensus "
        "model's, the workers' own, and the paper's. NGO − gossip is paired by seed."
    )
