"""Table A1: fully connected networks, final accuracy and loss, and first hitting time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from ngo.analysis.comparisons import comparison_table
from ngo.analysis.criteria import ACCURACY, HITTING_TIME, TEST_LOSS, TRAIN_LOSS
from ngo.analysis.hitting_times import hitting_table, with_first_hitting
from ngo.analysis.published import sole_dataset
from ngo.figures import captions
from ngo.figures.comparison_tables import print_comparison
from ngo.figures.output import Output
from ngo.figures.tables import number, save_table
from verdicts.row import ABSENT

CRITERIA = (replace(ACCURACY, published=None), TEST_LOSS, TRAIN_LOSS)


def make(
    metrics: str | Path,
    reference: str | Path,
    target_loss_iid: float,
    target_loss_noniid: float,
    tier: str,
    out: str | Path,
) -> Output:
    """Compute and save the table from the metrics of runs and the paper's numbers.

    The hitting time is that of the target: a test loss of the consensus model in each half.
    """
    targets = {"iid": target_loss_iid, "noniid": target_loss_noniid}
    runs = with_first_hitting(pd.read_parquet(metrics), targets)
    ends = comparison_table(runs, reference, CRITERIA)
    table = pd.concat([ends, hitting_table(runs, reference)], ignore_index=True).assign(tier=tier)
    printed = print_censored(table)
    paper = sole_dataset(reference)
    save_table(
        table,
        printed,
        f"{out}/tables/tableA1",
        "Table A1. Fully connected networks: final accuracies and losses (cross entropy; the "
        f"training loss is the workers' on their own batches), {captions.mean_over_seeds(runs)}; "
        f"first hitting time of the test loss {target_loss_iid:g} (iid) or {target_loss_noniid:g} "
        "(non-iid) by the consensus model, linear between evaluations: the median over seeds, and "
        "how many runs reach it. > is the length of training where half of the runs or more do "
        f"not. NGO − gossip is paired by seed. The paper's numbers are for {paper}; it states no "
        f"unit of its hitting time, and none of its loss. {captions.made_by(tier, runs, paper)}",
    )
    return Output(tables=(printed,))


def print_censored(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form: as ``comparison_tables.print_comparison``, and hitting times with ``>``."""
    printed = print_comparison(table)
    times = table["measure"] == HITTING_TIME.name
    rows = table[times]
    digits, _ = HITTING_TIME.digits
    printed.loc[times, "Consensus"] = [
        number(median, digits) if np.isfinite(median) else f"> {horizon:g}"
        for median, horizon in zip(rows["consensus"], rows["horizon"].round(2), strict=True)
    ]
    lead = {-np.inf: "NGO alone hits", np.inf: "gossip alone hits"}
    printed.loc[times, "NGO − gossip"] = [
        lead.get(found) or number(found, digits, plus=True) for found in rows["ngo_minus_gossip"]
    ]
    reached = pd.Series(ABSENT, index=table.index)
    reached[times] = [f"{line.reached:g} of {line.seeds:g}" for line in rows.itertuples()]
    printed.insert(printed.columns.get_loc("Classes"), "Reached", reached)
    return printed
