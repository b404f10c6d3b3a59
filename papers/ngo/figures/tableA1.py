"""Fully connected networks: the final accuracies and losses, and the first hitting time of a test
loss that was fixed beforehand: the final loss that the paper prints. A run that never gets there
counts as later than all that do. The paper's numbers are for MNIST and have no stated unit; it
speaks of the final accuracy, for whose hitting times see claim 66.

*The paper:* every method ends at the same accuracy, and NGO reaches it no later than gossip.
*Look at* the hitting times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from ngo.analysis.apart import CELL
from ngo.analysis.comparisons import COUNTS, comparison_table
from ngo.analysis.criteria import ACCURACY, HITTING_TIME, TEST_LOSS, TRAIN_LOSS
from ngo.analysis.published import published_for, sole_dataset
from ngo.analysis.row_order import ordered
from ngo.analysis.seed_means import check_apart
from ngo.data.partition import PARTITIONS
from ngo.figures import captions
from ngo.figures.comparison_tables import print_comparison
from ngo.figures.declaration import table
from ngo.figures.tables import number
from verdicts.row import ABSENT
from verdicts.rows.evaluations import final, time_to

CRITERIA = (replace(ACCURACY, published=None), TEST_LOSS, TRAIN_LOSS)


@table(
    "tableA1",
    section="Supplement, original appendix",
    title="Table A1: fully connected networks, final accuracy and loss, and first hitting time",
    reference="tableA1_mnist_hitting_time",
    values={"target_loss_iid": (0, 1e9), "target_loss_noniid": (0, 1e9)},
)
def numbers(
    metrics: pd.DataFrame, reference: Path, target_loss_iid: float, target_loss_noniid: float
) -> pd.DataFrame:
    """Final accuracies and losses by cell (``comparison_table``), and hitting times.

    The targets of the hitting times are test losses of the consensus model in each half.
    """
    targets = {"iid": target_loss_iid, "noniid": target_loss_noniid}
    runs = with_first_hitting(metrics, targets)
    ends = comparison_table(metrics, reference, CRITERIA)
    return pd.concat([ends, hitting_table(runs, reference)], ignore_index=True)


def with_first_hitting(metrics: pd.DataFrame, targets: Mapping[str, float]) -> pd.DataFrame:
    """``metrics`` with the column ``first_hitting``: the epoch at which a test loss is reached.

    ``targets`` are losses of the consensus model, for ``iid`` and ``noniid`` partitions. inf for a
    run that never reaches its own, and for a diverged run.
    """
    by_label = metrics["partition"].map(lambda name: PARTITIONS[name].by_label)
    halves = metrics.groupby(by_label.map({True: "noniid", False: "iid"}))
    parts = [time_to(rows, targets[half], "consensus_loss") for half, rows in halves]
    return metrics.assign(first_hitting=metrics["run"].map(pd.concat(parts)))


def hitting_table(metrics: pd.DataFrame, reference: str | Path) -> pd.DataFrame:
    """The rows of ``comparisons.comparison_table`` for ``first_hitting``, which may be censored.

    ``consensus`` is the median over seeds: inf if half of the runs or more never reach the target.
    ``ngo_minus_gossip`` is the median of the differences paired by seed, −inf if NGO alone reaches
    the target; seeds where neither does are left out. Further columns: ``reached``, the number of
    runs that do, and ``horizon``, the epochs of the shortest run.
    """
    rows = ordered(final(metrics))
    check_apart(rows, CELL)
    groups = rows.groupby([*CELL], dropna=False, sort=False)
    table = groups.agg(
        consensus=("first_hitting", "median"),
        reached=("first_hitting", lambda times: int(np.isfinite(times).sum())),
        horizon=("epoch", "min"),
        **COUNTS,
    ).reset_index()
    table["paper"] = published_for(table, reference, HITTING_TIME.published)
    return table.merge(_differences(rows), on=[*CELL], how="left").assign(measure=HITTING_TIME.name)


def _differences(rows: pd.DataFrame) -> pd.DataFrame:
    """``ngo_minus_gossip``, the median over seeds, for the rows of NGO."""
    by = [name for name in CELL if name != "method"]
    wide = rows.pivot(index=[*by, "seed"], columns="method", values="first_hitting")
    wide = wide.reindex(columns=["ngo", "gossip"])
    either = wide[np.isfinite(wide).any(axis=1)]
    medians = (either["ngo"] - either["gossip"]).groupby(level=by).median()
    return medians.rename("ngo_minus_gossip").reset_index().assign(method="ngo")


def caption(numbers: pd.DataFrame, metrics: pd.DataFrame, reference: Path, **targets: float) -> str:
    """What the columns are."""
    iid, noniid = targets.values()
    return (
        "Table A1. Fully connected networks: final accuracies and losses (cross entropy; the "
        f"training loss is the workers' on their own batches), {captions.mean_over_seeds(metrics)};"
        f" first hitting time of the test loss {iid:g} (iid) or {noniid:g} "
        "(non-iid) by the consensus model, linear between evaluations: the median over seeds, and "
        "how many runs reach it. > is the length of training where half of the runs or more do "
        "not. NGO − gossip is paired by seed. The paper's numbers are for "
        f"{sole_dataset(reference)}; it states no unit of its hitting time, and none of its loss."
    )


def show(numbers: pd.DataFrame) -> pd.DataFrame:
    """The printed form: as ``comparison_tables.print_comparison``, and hitting times with ``>``."""
    printed = print_comparison(numbers)
    times = numbers["measure"] == HITTING_TIME.name
    rows = numbers[times]
    decimals, _ = HITTING_TIME.digits
    printed.loc[times, "Consensus"] = [
        number(median, decimals) if np.isfinite(median) else f"> {horizon:g}"
        for median, horizon in zip(rows["consensus"], rows["horizon"].round(2), strict=True)
    ]
    lead = {-np.inf: "NGO alone hits", np.inf: "gossip alone hits"}
    printed.loc[times, "NGO − gossip"] = [
        lead.get(found) or number(found, decimals, plus=True) for found in rows["ngo_minus_gossip"]
    ]
    reached = pd.Series(ABSENT, index=numbers.index)
    reached[times] = [f"{line.reached:g} of {line.seeds:g}" for line in rows.itertuples()]
    printed.insert(printed.columns.get_loc("Classes"), "Reached", reached)
    return printed
