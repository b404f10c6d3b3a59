"""Each method at its best exponent p and synchronization rate γ, chosen by held-out accuracy."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ngo.analysis.comparisons import KEYS
from ngo.analysis.criteria import ACCURACY, HELD_OUT
from ngo.analysis.row_order import ordered
from ngo.analysis.seed_means import check_apart, over_seeds
from verdicts.rows.best_fields import best
from verdicts.rows.evaluations import final

TUNED = ["p", "gamma"]


def tuning_grid(metrics: pd.DataFrame) -> pd.DataFrame:
    """Accuracies of the consensus model by data set, partition, topology, method, p and γ.

    Held-out and test accuracy in percent, each as mean and 95 % half-width over seeds, and the
    number of diverged runs. The mean is NaN if a run diverged; p and γ are NaN for centralized
    training. Raises a UserError for runs of one seed that differ in no column of the grid.
    """
    by = [*KEYS, *TUNED]
    last = final(metrics)
    check_apart(last, by)
    rows = ordered(last.sort_values(["p", "gamma"], ascending=[False, True], kind="stable"))
    counts = rows.groupby(by, dropna=False, sort=False)["diverged"].agg(["sum", "size"])
    grid = counts.rename(columns={"sum": "diverged", "size": "seeds"}).reset_index()
    for name, criterion in (("held_out", HELD_OUT), ("test", ACCURACY)):
        percent = rows.assign(**{name: criterion.factor * rows[criterion.consensus]})
        grid = grid.merge(over_seeds(percent, by, name), on=by, how="left")
    return grid


def best_settings(grid: pd.DataFrame, keys: Sequence[str] = KEYS) -> pd.DataFrame:
    """The row of ``tuning_grid`` with the best mean held-out accuracy, for each value of ``keys``.

    Ties go to the smaller γ, then to the larger p; a setting at which a run diverged comes last.
    ``edge`` is ``smallest`` or ``largest`` if the best γ is at an end of the γ that were tried at
    the same p, where a better one may be outside; ``p_edge`` is the same for p.
    """
    keys = list(keys)
    found = best(grid.assign(score=grid["held_out"]), ["gamma", "p"], keys)
    found = found.drop(columns="score").sort_index()
    at_p = list(dict.fromkeys([*keys, "p"]))
    edges = {"edge": _edge(found, grid, "gamma", at_p), "p_edge": _edge(found, grid, "p", keys)}
    return found.assign(**edges)


def _edge(best: pd.DataFrame, grid: pd.DataFrame, name: str, keys: list[str]) -> pd.Series:
    """Whether ``best[name]`` is the smallest or largest of several values in ``grid``."""
    ends = grid.groupby(keys, dropna=False)[name].agg(["min", "max"]).reset_index()
    ends = best[list(dict.fromkeys([*keys, name]))].merge(ends, on=keys, how="left")
    ends = ends.set_index(best.index)
    edge = pd.Series(None, index=best.index, dtype=object)
    several = ends["min"] < ends["max"]
    edge[several & (ends[name] == ends["min"])] = "smallest"
    edge[several & (ends[name] == ends["max"])] = "largest"
    return edge
