"""Accuracy by the number of workers, and the advantage of NGO over gossip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ngo.analysis.curves import along, points, scores
from ngo.analysis.seed_means import check_apart
from verdicts.rows.equal_budgets import at_equal_steps, shared_steps
from verdicts.rows.evaluations import final

SIZES = ["method", "workers"]
GRAPHS = ["method", "topology", "workers"]


def best_accuracies(metrics: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """``curves.points`` of ``best`` and of ``difference`` by method and number of workers.

    ``best`` is that of ``with_best``, ``difference`` NGO − gossip, paired by seed.
    """
    last = with_best(scores(metrics))
    best = points(last, SIZES, ["best"])
    return best, points(gains(last, ["workers"], "best"), SIZES, ["difference"])


def with_best(metrics: pd.DataFrame) -> pd.DataFrame:
    """The last evaluation of every run with ``best``: the highest accuracy that the run reached.

    Only evaluations on the whole test set count: the best of many noisy ones would be too high.
    ``best`` is NaN for a diverged run.
    """
    last = final(metrics)
    whole = metrics[on_whole_test_set(metrics)]
    best = last["run"].map(whole.groupby("run")["accuracy"].max())
    return last.assign(best=best.where(~last["diverged"]))


def on_whole_test_set(metrics: pd.DataFrame) -> pd.Series:
    """Whether an evaluation used all test images: the last one of a run always does."""
    if "eval_images" not in metrics:
        return pd.Series(True, index=metrics.index)
    at_end = metrics["step"] == metrics.groupby("run")["step"].transform("max")
    return at_end | (metrics["eval_images"].fillna(0) == 0)


def gains(runs: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """NGO − gossip of ``value``, by seed, for each group ``by``, in the column ``difference``.

    Each row of ``runs`` is one run; a seed with one of the two alone is left out. Columns: ``by``,
    seed, difference, diverged (whether either run diverged), method (``ngo``), run.
    """
    rows = runs[runs["method"].isin(["gossip", "ngo"])]
    value_or_nan = rows[value].where(~rows["diverged"])
    wide = rows.assign(**{value: value_or_nan}).pivot(
        index=[*by, "seed"], columns="method", values=value
    )
    wide = wide.reindex(columns=["gossip", "ngo"])
    both = rows.groupby([*by, "seed"])["method"].nunique().reindex(wide.index) == 2
    pairs = (wide["ngo"] - wide["gossip"])[both].rename("difference").reset_index()
    name = pairs[[*by, "seed"]].astype(str).agg("-".join, axis=1)
    return pairs.assign(diverged=pairs["difference"].isna(), method="ngo", run=name)


@dataclass(frozen=True)
class EqualSteps:
    """Runs of several sizes and topologies after the same number of steps."""

    steps: int
    """The number of steps that all runs took."""
    course: pd.DataFrame
    """``curves.along`` of accuracy and V against the step, by method, topology and workers."""
    ends: pd.DataFrame
    """``curves.points`` of accuracy and V after ``steps``."""
    times: pd.DataFrame
    """``curves.points`` of steps_to_target, and the number of runs that are ``late``.

    The mean is NaN where a run does not reach the target, since that of the others is too small.
    """
    gain: pd.DataFrame
    """``curves.points`` of difference: the accuracy of NGO − that of gossip, paired by seed."""


def equal_steps(metrics: pd.DataFrame, target: float) -> EqualSteps:
    """The numbers of Figure S3; ``target`` is an accuracy as a share of 1.

    Raises a UserError for runs of one seed that it can't tell apart.
    """
    every = scores(metrics)
    check_apart(final(every), GRAPHS)
    steps = shared_steps(every)
    last = at_equal_steps(every, ["accuracy", "V"])
    last["steps_to_target"] = last["run"].map(steps_to_target(metrics, target, steps))
    return EqualSteps(
        steps,
        along(every[every["step"] <= steps], GRAPHS, "step", ["accuracy", "V"]),
        points(last, GRAPHS, ["accuracy", "V"]),
        _times(last),
        points(gains(last, ["topology", "workers"], "accuracy"), GRAPHS, ["difference"]),
    )


def _times(last: pd.DataFrame) -> pd.DataFrame:
    times = points(last, GRAPHS, ["steps_to_target"])
    lost = last.groupby(GRAPHS, dropna=False)["diverged"].sum().rename("lost").reset_index()
    times = times.merge(lost, on=GRAPHS, how="left")
    times["late"] = times["diverged"] - times["lost"]
    times["diverged"] = times.pop("lost")
    times.loc[times["late"] > 0, ["mean", "low", "high"]] = np.nan
    return times


def steps_to_target(metrics: pd.DataFrame, target: float, steps: int | None = None) -> pd.Series:
    """The step at which each run's consensus model first has the accuracy ``target``, by run.

    Linear between evaluations. NaN for a run that diverged, or that was not there after ``steps``.
    """
    found = {}
    for run, rows in metrics.groupby("run", sort=False):
        rows = rows.sort_values("step")
        step = rows["step"].to_numpy(dtype=float)
        accuracy = rows["consensus_accuracy"].to_numpy(dtype=float)
        there = np.flatnonzero(accuracy >= target)
        if rows["diverged"].any() or not len(there):
            found[run] = np.nan
            continue
        k = int(there[0])
        first = step[0]
        if k:
            share = (target - accuracy[k - 1]) / (accuracy[k] - accuracy[k - 1])
            first = step[k - 1] + share * (step[k] - step[k - 1])
        found[run] = first if steps is None or first <= steps else np.nan
    return pd.Series(found, dtype=float)
