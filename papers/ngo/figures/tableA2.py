"""Convolutional networks: the final test and training loss by partition, topology and method. The
paper's numbers are for CIFAR-10 and have no stated unit.

*The paper:* NGO ends at a lower loss than gossip; its own number for the complete graph and iid
data contradicts this. *Look at* the differences, paired by seed.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.comparisons import comparison_table
from ngo.analysis.criteria import TEST_LOSS, TRAIN_LOSS
from ngo.analysis.published import sole_dataset
from ngo.plots import captions
from ngo.plots.comparison_tables import print_comparison as show  # noqa: F401
from ngo.plots.declaration import table


@table(
    "tableA2",
    section="Supplement, original appendix",
    title="Table A2: convolutional networks, final loss",
    reference="tableA2_cifar10_loss",
)
def numbers(metrics: pd.DataFrame, reference: Path) -> pd.DataFrame:
    """Losses and their differences by cell, see ``comparison_table``."""
    return comparison_table(metrics, reference, [TEST_LOSS, TRAIN_LOSS])


def caption(numbers: pd.DataFrame, metrics: pd.DataFrame, reference: Path) -> str:
    """What the columns are."""
    return (
        "Table A2. Convolutional networks: final losses (cross entropy; the training loss is the "
        f"workers' on their own batches), {captions.mean_over_seeds(metrics)}. NGO − gossip is "
        "paired by seed; lower is better. The paper's numbers are for "
        f"{sole_dataset(reference)}, and do not say which loss they are: its metric is the test "
        "loss."
    )
