"""Each protocol at its best synchronization rate γ, chosen by held-out accuracy."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.claims import claims_table
from ngo.analysis.comparisons import KEYS, protocol_table
from ngo.analysis.criteria import ACCURACY, HELD_OUT
from ngo.analysis.evaluations import check_apart, final, over_seeds
from ngo.analysis.order import ordered
from ngo.analysis.published import beside_published


def gamma_grid(metrics: pd.DataFrame) -> pd.DataFrame:
    """Accuracies of the consensus model by data set, partition, topology, protocol and γ.

    Held-out and test accuracy in percent, each as mean and 95 % half-width over seeds, and the
    number of diverged runs. The mean is NaN if a run diverged; γ is NaN for centralized training.
    Raises a UserError for runs of one seed that differ in no column of the grid.
    """
    by = [*KEYS, "gamma"]
    last = final(metrics)
    check_apart(last, by)
    rows = ordered(last.sort_values("gamma", kind="stable"))
    counts = rows.groupby(by, dropna=False, sort=False)["diverged"].agg(["sum", "size"])
    grid = counts.rename(columns={"sum": "diverged", "size": "seeds"}).reset_index()
    for name, criterion in (("held_out", HELD_OUT), ("test", ACCURACY)):
        percent = rows.assign(**{name: criterion.factor * rows[criterion.consensus]})
        stats = over_seeds(percent, by, name)
        stats = stats.rename(columns={"mean": name, "half_width": f"{name}_ci95"})
        grid = grid.merge(stats[[*by, name, f"{name}_ci95"]], on=by, how="left")
    return grid


def best_gammas(grid: pd.DataFrame) -> pd.DataFrame:
    """The row of ``gamma_grid`` with the best γ of each cell, by mean held-out accuracy.

    Ties go to the smaller γ; a γ at which a run diverged comes last. ``edge`` is ``smallest`` or
    ``largest`` if the best γ is at an end of the grid, where a better one may be outside.
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
    """The metrics of the runs at the best γ of their cell."""
    best = best_gammas(gamma_grid(metrics))
    return metrics.merge(best[[*KEYS, "gamma"]], on=[*KEYS, "gamma"])


def tuned_table(metrics: pd.DataFrame, reference: str | Path) -> pd.DataFrame:
    """Table 1 with each protocol at its own best γ (``comparisons.protocol_table``).

    Further columns: that ``gamma``, its ``edge`` and held-out accuracy; the paper's NGO − gossip;
    the test accuracy at every γ of the grid, ``test_GAMMA``, and the diverged runs there.
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
    """Verdicts on NGO against gossip with each at its own best γ, by topology and partition.

    See ``claims.claims_table``.
    """
    return claims_table(at_best_gamma(metrics), reference, [ACCURACY], topologies=False)
