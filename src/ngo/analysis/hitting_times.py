"""First hitting times: when a run first reaches a target that was fixed beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from ngo.analysis.apart import CELL
from ngo.analysis.criteria import HITTING_TIME
from ngo.analysis.published import beside_published
from ngo.analysis.row_order import ordered
from ngo.analysis.seed_means import check_apart
from ngo.data.partition import PARTITIONS
from verdicts.rows.evaluations import final
from verdicts.rows.times import time_to

KEYS = [*CELL]


def with_first_hitting(metrics: pd.DataFrame, targets: Mapping[str, float]) -> pd.DataFrame:
    """``metrics`` with the column ``first_hitting``: the epoch at which a test loss is reached.

    ``targets`` are losses of the consensus model, for ``iid`` and ``noniid`` partitions. inf for a
    run that never reaches its own, and for a diverged run.
    """
    halves = metrics["partition"].map(_half)
    parts = [
        time_to(rows, targets[half], "consensus_loss") for half, rows in metrics.groupby(halves)
    ]
    return metrics.assign(first_hitting=metrics["run"].map(pd.concat(parts)))


def hitting_table(metrics: pd.DataFrame, reference: str | Path) -> pd.DataFrame:
    """The rows of ``comparisons.comparison_table`` for ``first_hitting``, which may be censored.

    ``consensus`` is the median over seeds: inf if half of the runs or more never reach the target.
    ``ngo_minus_gossip`` is the median of the differences paired by seed, −inf if NGO alone reaches
    the target; seeds where neither does are left out. Further columns: ``reached``, the number of
    runs that do, and ``horizon``, the epochs of the shortest run.
    """
    rows = ordered(final(metrics))
    check_apart(rows, KEYS)
    groups = rows.groupby(KEYS, dropna=False, sort=False)
    table = groups.agg(
        consensus=("first_hitting", "median"),
        reached=("first_hitting", lambda times: int(np.isfinite(times).sum())),
        horizon=("epoch", "min"),
        seeds=("seed", "nunique"),
        diverged=("diverged", "sum"),
        classes_min=("classes_covered", "min"),
        classes_max=("classes_covered", "max"),
    ).reset_index()
    table["paper"] = beside_published(table, reference, HITTING_TIME.published)
    return table.assign(measure=HITTING_TIME.name, ngo_minus_gossip=_differences(rows, table))


def _differences(rows: pd.DataFrame, table: pd.DataFrame) -> list[float]:
    """The median of NGO − gossip in the rows of NGO in ``table``, NaN in others."""
    found = []
    for line in table.itertuples():
        own = rows[
            (rows["dataset"] == line.dataset)
            & (rows["partition"] == line.partition)
            & (rows["topology"] == line.topology)
        ].pivot(index="seed", columns="method", values="first_hitting")
        if line.method != "ngo" or not {"ngo", "gossip"} <= set(own):
            found.append(np.nan)
            continue
        either = own[np.isfinite(own[["ngo", "gossip"]]).any(axis=1)]
        found.append(float((either["ngo"] - either["gossip"]).median()))
    return found


def _half(partition: str) -> str:
    return "noniid" if PARTITIONS[partition].by_label else "iid"
