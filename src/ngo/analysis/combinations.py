"""Each method with each way to mix, at its own best p, γ and learning rate."""

from __future__ import annotations

import pandas as pd

from ngo.analysis.best_fields import at_best
from ngo.analysis.evaluations import check_apart, final, over_seeds

SITUATION = ["dataset", "partition", "topology", "method"]
CELL = [*SITUATION, "mixer"]
TUNED = ["p", "gamma", "lr"]

LINEAR, NGO = "linear", "NGO"
PLAIN = ("gossip", "ngo")
"""Protocols whose method is the local rule alone."""


def with_parts(metrics: pd.DataFrame) -> pd.DataFrame:
    """The metrics with the columns ``method`` and ``mixer``.

    The method is the protocol's correction with the local rule, such as ``d2`` or ``d2 +
    momentum``; of gossip and NGO, which have none, the local rule. The mixer is ``linear``, ``NGO``
    (both coupling power), or the coupling; NaN without a topology.
    """
    plain = metrics["protocol"].isin(PLAIN)
    rule, protocol = metrics["local_rule"], metrics["protocol"]
    both = protocol.where(rule == "sgd", protocol + " + " + rule)
    linear = metrics["coupling"].eq("power") & metrics["p"].eq(1)
    mixer = metrics["coupling"].replace("power", NGO).mask(linear, LINEAR)
    return metrics.assign(method=both.mask(plain, rule), mixer=mixer)


def best_combinations(metrics: pd.DataFrame) -> pd.DataFrame:
    """All evaluations of the runs at the best ``TUNED`` of each cell, by held-out accuracy.

    The best mean over seeds (``best_fields.at_best``).
    """
    return at_best(with_parts(metrics), TUNED, CELL)


def combination_table(metrics: pd.DataFrame) -> pd.DataFrame:
    """One row for each data set, partition, topology, method and mixer (``CELL``).

    Columns: the best ``TUNED``; test accuracy in percent, of the mean model, over seeds, with its
    95 % half-width (``accuracy``, ``accuracy_ci95``); the difference to linear gossip with the same
    method (``gain``, ``gain_ci95``), paired by seed; bytes sent by a run; the runs that diverged.
    """
    rows = final(best_combinations(metrics))
    check_apart(rows, CELL)
    rows = rows.assign(accuracy=100 * rows["consensus_accuracy"])
    linear = rows.loc[rows["mixer"] == LINEAR, [*SITUATION, "seed", "accuracy"]]
    rows = rows.merge(linear, on=[*SITUATION, "seed"], how="left", suffixes=("", "_linear"))
    rows["gain"] = rows["accuracy"] - rows["accuracy_linear"]
    counts = rows.groupby(CELL, dropna=False, sort=False).agg(
        **{name: (name, "first") for name in TUNED},
        bytes_sent=("bytes_sent", "mean"),
        seeds=("seed", "nunique"),
        diverged=("diverged", "sum"),
    )
    table = counts.reset_index()
    for value in ("accuracy", "gain"):
        found = over_seeds(rows, CELL, value).rename(
            columns={"mean": value, "half_width": f"{value}_ci95"}
        )
        table = table.merge(found[[*CELL, value, f"{value}_ci95"]], on=CELL)
    table.loc[table["mixer"] == LINEAR, ["gain", "gain_ci95"]] = float("nan")
    return table
