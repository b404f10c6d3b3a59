"""Table A2: convolutional networks, final loss."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.criteria import TEST_LOSS, TRAIN_LOSS
from ngo.analysis.published import sole_dataset
from ngo.figures import captions
from ngo.figures.comparison_tables import save_comparison
from ngo.figures.output import Output


def make(metrics: str | Path, reference: str | Path, tier: str, out: str | Path) -> Output:
    """Compute and save the table from the metrics of runs and the paper's numbers."""
    runs = pd.read_parquet(metrics)
    paper = sole_dataset(reference)
    made_by = captions.made_by(tier, runs, paper)
    printed = save_comparison(
        runs,
        reference,
        [TEST_LOSS, TRAIN_LOSS],
        tier,
        f"{out}/tables/tableA2",
        "Table A2. Convolutional networks: final losses (cross entropy; the training loss is the "
        f"workers' on their own batches), {captions.mean_over_seeds(runs)}. NGO − gossip is paired "
        f"by seed; lower is better. The paper's numbers are for {paper}, and do not say which loss "
        f"they are: its metric is the test loss. {made_by}",
    )
    return Output(tables=(printed,))
