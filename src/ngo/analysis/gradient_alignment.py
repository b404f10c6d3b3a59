"""Directions and lengths of the workers' gradients against V, over seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ngo.analysis.seed_means import check_apart
from verdicts.statistics.estimates import estimate

BY = ("dataset", "method", "topology")
"""Runs are seeds of one if they agree on these fields."""


@dataclass(frozen=True)
class Curve:
    """Means over seeds with the ends of their 95 % intervals, one value for each scale."""

    mean: np.ndarray
    below: np.ndarray
    """Distance of the interval's lower end from the mean; NaN without an interval."""
    above: np.ndarray
    """Distance of the interval's upper end from the mean."""


@dataclass(frozen=True)
class Alignment:
    """One of the gradients' values at each scale, against V."""

    V: pd.Series
    """Geometric mean over seeds of V, by scale."""
    least: pd.Series
    """The least value of all workers and seeds, by scale."""
    greatest: pd.Series
    workers: Curve
    """A worker's gradient."""
    mean: Curve
    """The mean of the workers' gradients."""


def groups(table: pd.DataFrame) -> list[tuple[tuple[str, str, str], pd.DataFrame]]:
    """The parts of ``alignment.alignment_table`` whose runs differ in the seed only.

    Raises a UserError for runs of one seed that agree on ``BY``.
    """
    check_apart(table.drop_duplicates("run"), list(BY))
    return list(table.groupby(list(BY), dropna=False))


def trained_V(part: pd.DataFrame) -> float:
    """V at the end of training, the geometric mean over seeds."""
    moved = part[part["V"] > 0]
    return _geometric_mean(moved["V"] / moved["scale"] ** 2)


def alignment(part: pd.DataFrame, value: str, *, log: bool) -> Alignment:
    """``value`` of the workers' gradients and of their mean, by scale.

    With ``log``, means and intervals are those of the logarithm.
    """
    workers = part[part["worker"] >= 0]
    spread = workers.groupby("scale")[value]
    return Alignment(
        part.groupby("scale")["V"].agg(_geometric_mean),
        spread.min(),
        spread.max(),
        _curve(workers, value, log),
        _curve(part[part["worker"] < 0], value, log),
    )


def _curve(rows: pd.DataFrame, value: str, log: bool) -> Curve:
    forward, back = (np.log, np.exp) if log else (np.positive, np.positive)
    by_seed = rows.assign(shown=forward(rows[value])).groupby(["scale", "run"])["shown"].mean()
    found = [estimate(seeds.to_numpy()) for _, seeds in by_seed.groupby("scale")]
    mean = np.array([estimated.mean for estimated in found])
    half_width = np.array([estimated.half_width for estimated in found])
    return Curve(
        back(mean), back(mean) - back(mean - half_width), back(mean + half_width) - back(mean)
    )


def _geometric_mean(values: pd.Series) -> float:
    """The geometric mean; 0 if a value is 0."""
    return float(np.exp(np.log(values).mean())) if values.all() else 0.0
