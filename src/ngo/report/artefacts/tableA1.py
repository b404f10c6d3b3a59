"""Table A1: fully connected networks, final loss and first hitting time."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.criteria import HITTING_TIME, TEST_LOSS, TRAIN_LOSS
from ngo.analysis.hitting_times import with_first_hitting
from ngo.analysis.published import sole_dataset
from ngo.report import captions
from ngo.report.output import Output
from ngo.report.protocol_tables import VERDICTS, save_protocols


def make(metrics: str | Path, reference: str | Path, tier: str, out: str | Path) -> Output:
    """Compute and save the tables from the metrics of runs and the paper's numbers."""
    runs = with_first_hitting(pd.read_parquet(metrics))
    paper = sole_dataset(reference)
    made_by = captions.made_by(tier, runs, paper)
    tables = save_protocols(
        runs,
        reference,
        [TEST_LOSS, TRAIN_LOSS, HITTING_TIME],
        tier,
        f"{out}/tables/tableA1",
        "Table A1. Fully connected networks: final losses (cross entropy; the training loss is the "
        "workers' on their own batches) and first hitting time, the first evaluation at which the "
        "consensus model has the accuracy that all protocols end with (the lowest final one of the "
        "same partition and seed); mean ± 95 % interval over seeds. NGO − gossip is paired by "
        f"seed; lower is better. The paper's numbers are for {paper}; it states no unit of its "
        f"hitting time, and none of its loss. {made_by}",
        "What Table A1 of the paper says, of the consensus model's test loss and first hitting "
        f"time (lower is better). {VERDICTS} {made_by}",
    )
    return Output(tables=tables)
