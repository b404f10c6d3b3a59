"""Each protocol at the synchronization rate γ that suits it best, by held-out accuracy."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.comparisons import (
    ACCURACY,
    HELD_OUT,
    KEYS,
    beside_published,
    claims_table,
    ordered,
    protocol_table,
)
from ngo.results import check_apart, final, over_seeds


def gamma_grid(metrics: pd.DataFrame) -> pd.DataFrame:
    """For each data set, partition, topology, protocol and γ: held-out and test accuracy in percent
    of the consensus model, mean and 95 % half-width over seeds, and how many runs diverged.

    A mean over seeds one of which diverged is NaN. Centralized training has no γ: NaN. Raises a
    UserError for runs of one seed that differ otherwise.
    """
    by = [*KEYS, "gamma"]
    last = final(metrics)
    check_apart(last, by)
    rows = ordered(last.sort_values("gamma", kind="stable"))
    counts = rows.groupby(by, dropna=False, sort=False)["diverged"].agg(["sum", "size"])
    grid = counts.rename(columns={"sum": "diverged", "size": "seeds"}).reset_index()
    for name, measure in (("held_out", HELD_OUT), ("test", ACCURACY)):
        percent = rows.assign(**{name: measure.factor * rows[measure.consensus]})
        stats = over_seeds(percent, by, name)
        stats = stats.rename(columns={"mean": name, "half_width": f"{name}_ci95"})
        grid = grid.merge(stats[[*by, name, f"{name}_ci95"]], on=by, how="left")
    return grid


def best_gammas(grid: pd.DataFrame) -> pd.DataFrame:
    """Of a :func:`gamma_grid`, the row of each cell's best γ, by mean held-out accuracy.

    Of equal ones the smaller γ is chosen; one at which a run diverged comes last. ``edge`` says
    whether it is the ``smallest`` or ``largest`` of several: a better one may lie beyond.
    """
    last = grid["held_out"].fillna(-1)
    order = grid.assign(_rank=last).sort_values(["_rank", "gamma"], ascending=[False, True])
    best = order.drop(columns="_rank").drop_duplicates(KEYS).sort_index()
    ends = grid.groupby(KEYS, dropna=False)["gamma"].agg(["min", "max"]).reset_index()
    ends = best[[*KEYS, "gamma"]].merge(ends, on=KEYS, how="left").set_index(best.index)
    several = ends["min"] < ends["max"]
    edge = pd.Series(None, index=best.index, dtype=object)
    edge[several & (ends["gamma"] == ends["min"])] = "smallest"
    edge[several & (ends["gamma"] == ends["max"])] = "largest"
    return best.assign(edge=edge)


def at_best_gamma(metrics: pd.DataFrame) -> pd.DataFrame:
    """The metrics of the runs at the best γ of their data set, partition, topology and protocol."""
    best = best_gammas(gamma_grid(metrics))
    return metrics.merge(best[[*KEYS, "gamma"]], on=[*KEYS, "gamma"])


def tuned_table(metrics: pd.DataFrame, reference: str | Path) -> pd.DataFrame:
    """Table 1 with each protocol at its own best γ (:func:`ngo.comparisons.protocol_table`).

    Beside it: that ``gamma``, its ``edge`` and held-out accuracy; the paper's NGO − gossip; and
    the test accuracy at every γ of the grid, in columns ``test_GAMMA``, with how many diverged.
    """
    grid = gamma_grid(metrics)
    best = best_gammas(grid)[[*KEYS, "gamma", "edge", "held_out", "held_out_ci95"]]
    table = protocol_table(at_best_gamma(metrics), reference, [ACCURACY])
    table = best.merge(table, on=KEYS, how="right")
    gossip = beside_published(
        table.assign(protocol="gossip"), reference, "test_accuracy_percent"
    ).where(table["protocol"] == "ngo")
    table["paper_ngo_minus_gossip"] = table["paper"] - gossip
    for gamma, rows in grid.dropna(subset="gamma").groupby("gamma"):
        columns = {
            "test": f"test_{gamma:g}",
            "test_ci95": f"test_{gamma:g}_ci95",
            "diverged": f"diverged_{gamma:g}",
        }
        rows = rows.rename(columns=columns)[[*KEYS, *columns.values()]]
        table = table.merge(rows, on=KEYS, how="left")
    return table


def tuned_claims(metrics: pd.DataFrame, reference: str | Path) -> pd.DataFrame:
    """Whether NGO − gossip has the sign of the paper's with each at its own best γ: a verdict for
    each topology and partition (:func:`ngo.comparisons.claims_table`).
    """
    return claims_table(at_best_gamma(metrics), reference, [ACCURACY], topologies=False)
