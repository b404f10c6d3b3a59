"""Means over seeds with intervals, along training or at its end, and correlations within seeds."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import NamedTuple

import numpy as np

from ngo.analysis.cases import pooled
from ngo.common.lazy import pd
from verdicts import estimate, final
from verdicts.lazy import stats
from verdicts.run_values import since_the_row_before
from verdicts.statistics import ROUNDING


def check_apart(runs: pd.DataFrame, by: Sequence[str]) -> None:
    """Raise a UserError if two rows of ``runs`` have the same seed and agree on all columns ``by``.

    Each row is one run. The mean over the two would mix two cases.
    """
    twice = runs[runs.duplicated([*by, "seed"], keep=False)]
    for _, same in twice.groupby([*by, "seed"], dropna=False, sort=False):
        raise pooled(by, same["run"][:2])


def over_seeds(rows: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """The mean of ``value`` over seeds in each group ``by``, and its 95 % half-width.

    Columns: ``by``, ``value`` and ``value`` with ``_ci95``.
    """
    records = []
    for keys, group in rows.groupby(by, dropna=False, sort=False):
        estimated = estimate(group[value].to_numpy())
        records.append((*keys, estimated.mean, estimated.half_width))
    return pd.DataFrame(records, columns=[*by, value, f"{value}_ci95"])


def medians(rows: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """The median of ``value`` over seeds in each group ``by``. Columns: ``by`` and ``value``."""
    return rows.groupby(by, dropna=False, sort=False)[value].median().reset_index()


def with_ends(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    """Rows of ``over_seeds`` with the columns ``mean``, ``low`` and ``high`` of a ``value``."""
    mean, half = rows[value], rows[f"{value}_ci95"]
    return rows.assign(mean=mean, low=mean - half, high=mean + half)


#: Values that span orders of magnitude: they get geometric means.
GEOMETRIC = ("V", "V_mean", "loss", "workers_loss", "ratio", "relative_norm", "steps", "speedup")

#: The least and the greatest value that each value can have; intervals end there.
POSSIBLE = {
    "accuracy": (0, 100),
    "best": (0, 100),
    "difference": (-100, 100),
    **dict.fromkeys((*GEOMETRIC, "messages"), (0, np.inf)),
}


def scores(metrics: pd.DataFrame) -> pd.DataFrame:
    """``metrics`` with the accuracy in percent, and the losses under the names used in figures."""
    return metrics.assign(
        accuracy=100 * metrics["consensus_accuracy"],
        loss=metrics["consensus_loss"],
        workers_loss=metrics["workers_loss_mean"],
    )


def with_mean_V(metrics: pd.DataFrame) -> pd.DataFrame:
    """``metrics`` with ``V_mean``, the mean of V over the training of a run so far.

    It is that of the judge's ``{mean: V}``: each evaluation counts for the steps since the one
    before it, and the one at step 0 for none, where the mean is NaN. So it is where V is. The
    evaluations of a run are in the order of steps.
    """
    steps = since_the_row_before(metrics)
    weighted = (steps * metrics["V"]).groupby(metrics["run"]).cumsum()
    return metrics.assign(V_mean=weighted / steps.groupby(metrics["run"]).cumsum())


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


def points(rows: pd.DataFrame, by: list[str], values: list[str]) -> pd.DataFrame:
    """Mean and 95 % interval over seeds of each of ``values``, for each group ``by`` of ``rows``.

    Each row is one run. Columns: ``by``, value, mean, low, high, seeds, diverged. The mean is over
    the ``seeds`` runs with a finite value; ``diverged`` counts the others. Values in ``GEOMETRIC``
    have the geometric mean and the interval of the logarithm. The ends of an interval are clipped
    to ``POSSIBLE``, and NaN below ``FEWEST`` seeds. Raises a UserError if a seed
    occurs twice in a group.
    """
    check_apart(rows, by)
    records = []
    for value in values:
        for keys, group in rows.groupby(by, dropna=False, sort=False):
            shown = group.loc[~group["diverged"], value].to_numpy(dtype=float)
            shown = shown[np.isfinite(shown)]
            record = dict(zip(by, keys, strict=True)) | {"value": value, **interval(shown, value)}
            records.append(record | {"seeds": len(shown), "diverged": len(group) - len(shown)})
    return pd.DataFrame(records)


def along(metrics: pd.DataFrame, by: list[str], x: str, values: list[str]) -> pd.DataFrame:
    """``points`` of every evaluation, with the mean of ``x`` (step or epoch).

    Evaluations are matched by number, since seeds may own different numbers of samples. A diverged
    run that ended early counts as diverged from then on.
    """
    check_apart(metrics.drop_duplicates("run"), by)
    rows = metrics.assign(evaluation=metrics.groupby("run").cumcount())
    table = points(rows, [*by, "evaluation"], values)
    mean_x = rows.groupby([*by, "evaluation"], dropna=False)[x].mean().rename(x).reset_index()
    runs = rows.groupby(by, dropna=False)["run"].nunique().rename("runs").reset_index()
    table = table.merge(mean_x, on=[*by, "evaluation"], how="left").merge(runs, on=by, how="left")
    table["diverged"] = table["runs"] - table["seeds"]
    return table.drop(columns=["evaluation", "runs"])


def together(*tables: pd.DataFrame, **parts: pd.DataFrame) -> pd.DataFrame:
    """Concatenate tables with different columns; integers remain integers.

    The rows of ``parts`` have their name in the column ``part``, see ``part``.
    """
    tables += tuple(table.assign(part=name) for name, table in parts.items())
    filled = [table.dropna(axis=1, how="all") for table in tables]
    counts = [table.astype(dict.fromkeys(table.select_dtypes("int"), "Int64")) for table in filled]
    columns = list(dict.fromkeys(name for table in tables for name in table))
    return pd.concat(counts, ignore_index=True).reindex(columns=columns)


def part(numbers: pd.DataFrame, name: str) -> pd.DataFrame:
    """The rows of one of the parts that ``together`` has joined."""
    return numbers[numbers["part"] == name].reset_index(drop=True)


def interval(values: np.ndarray, name: str) -> dict[str, float]:
    """The mean of ``values`` over seeds and its 95 % interval, as ``points`` has those of ``name``.

    Keys: mean, low, high.
    """
    geometric = name in GEOMETRIC
    if not len(values):
        return dict.fromkeys(("mean", "low", "high"), np.nan)
    if geometric and values.min() <= 0:
        return {"mean": 0.0, "low": np.nan, "high": np.nan}
    estimated = estimate(np.log(values) if geometric else values)
    mean, half_width = estimated.mean, estimated.half_width
    shown = np.array([mean, mean - half_width, mean + half_width])
    shown = np.exp(shown) if geometric else shown
    shown[1:] = shown[1:].clip(*POSSIBLE.get(name, (-np.inf, np.inf)))
    return dict(zip(("mean", "low", "high"), map(float, shown), strict=True))


# Correlation of the synchronization index V with a score, over runs and within seeds.


class Pooled(NamedTuple):
    """A correlation within a seed, pooled over seeds as the mean of Fisher's z."""

    #: tanh of the mean z.
    r: float
    #: The ends of the 95 % interval; NaN if there is none.
    low: float
    high: float
    #: The seeds with a correlation.
    seeds: int


def within_seeds(ends: pd.DataFrame, score: str) -> pd.DataFrame:
    """Correlation of log V with ``score`` over the runs of each seed, which share a partition.

    ``ends`` has a row for each run. Columns, indexed by seed: r, Pearson's; z, Fisher's
    artanh(r); slope, the change of ``score`` when V grows by the factor e, by least squares. NaN
    where fewer than three runs of a seed differ. Diverged runs and runs with V = 0 are left out.
    """
    records = {}
    for seed, rows in ends[on_log_axis(ends, score)].groupby("seed"):
        log_V, values = np.log(rows["V"]), rows[score]
        r = pearson(log_V, values)[0]
        z = np.copysign(np.inf, r) if 1 - abs(r) < ROUNDING else np.arctanh(r)
        slope = r * values.std() / log_V.std() if np.isfinite(r) else np.nan
        records[seed] = r, z, slope
    return pd.DataFrame.from_dict(records, "index", float, ["r", "z", "slope"])


def pooled_correlation(by_seed: pd.DataFrame) -> Pooled:
    """The correlations of ``within_seeds``, pooled over seeds."""
    z = by_seed["z"].dropna().to_numpy()
    if not len(z):
        return Pooled(np.nan, np.nan, np.nan, 0)
    if not np.isfinite(z).all():
        return Pooled(float(np.tanh(z.mean())), np.nan, np.nan, len(z))
    estimated = estimate(z)
    low, high = estimated.mean - estimated.half_width, estimated.mean + estimated.half_width
    return Pooled(*(float(np.tanh(end)) for end in (estimated.mean, low, high)), len(z))


def correlations(ends: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Correlation of log V with the accuracy of the runs of each group ``by``.

    Over all runs: Pearson's r with its 95 % interval, and Spearman's ρ with its p-value. Within a
    seed, where all runs have the same partition: Pearson's r, pooled over seeds, with its 95 %
    interval. Diverged runs and runs with V = 0 are left out.
    """
    names = "runs pearson pearson_low pearson_high spearman spearman_p"
    names += " within_seed within_seed_low within_seed_high seeds"
    records = []
    for keys, rows in ends.groupby(by, sort=False):
        rows = rows[on_log_axis(rows)]
        log_V, accuracy = np.log(rows["V"]), rows["accuracy"]
        over_all = *pearson(log_V, accuracy), *spearman(log_V, accuracy)
        within = pooled_correlation(within_seeds(rows, "accuracy"))
        records.append((*keys, len(rows), *over_all, *within))
    return pd.DataFrame(records, columns=[*by, *names.split()])


def on_log_axis(rows: pd.DataFrame, score: str = "accuracy") -> pd.Series:
    """Whether a run has a finite ``score`` and a finite, positive V."""
    return np.isfinite(rows[score]) & np.isfinite(rows["V"]) & (rows["V"] > 0)


def pearson(x: pd.Series, y: pd.Series) -> tuple[float, float, float]:
    """Pearson's r and its 95 % interval; NaN if undefined (no interval if r is ±1)."""
    if len(x) < 3 or x.nunique() == 1 or y.nunique() == 1:
        return np.nan, np.nan, np.nan
    test = stats.pearsonr(x, y)
    r = float(test.statistic)
    straight = 1 - abs(r) < ROUNDING
    low, high = test.confidence_interval() if len(x) > 3 and not straight else (np.nan, np.nan)
    return r, float(low), float(high)


def spearman(x: pd.Series, y: pd.Series) -> tuple[float, float]:
    """Spearman's ρ and its p-value; NaN if undefined.

    SciPy's p-value uses a t distribution, which gives 0 at |ρ| = 1. It is at least 2/n!, since two
    of the n! orders are as extreme.
    """
    if len(x) < 3 or x.nunique() == 1 or y.nunique() == 1:
        return np.nan, np.nan
    test = stats.spearmanr(x, y)
    return float(test.statistic), max(float(test.pvalue), 2 / factorial(len(x)))
