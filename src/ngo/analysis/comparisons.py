"""Methods compared with each other and with the paper's numbers, by criteria such as accuracy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ngo.analysis.budgets import time_to
from ngo.analysis.cases import CELL
from ngo.analysis.seed_means import check_apart, medians, over_seeds
from ngo.common.files import found
from ngo.common.registries import DATASETS, PARTITIONS
from verdicts import final
from verdicts.scores import best

# Criteria.


@dataclass(frozen=True)
class Criterion:
    """A number by which methods are compared."""

    name: str
    #: The metrics column with the value of the consensus model.
    consensus: str | None
    #: The metrics column with the mean over the workers' models.
    workers: str | None
    #: The column in the file of the paper's numbers.
    published: str | None
    #: The metrics are multiplied by it.
    factor: float = 1.0
    #: Whether the paper's numbers are known to have our unit.
    same_unit: bool = True
    #: Decimals of our printed numbers and of the paper's.
    digits: tuple[int, int] = (2, 2)
    #: What is shown of several seeds: ``over_seeds`` or ``medians``.
    averaged: Callable[[pd.DataFrame, list[str], str], pd.DataFrame] = over_seeds


ACCURACY = Criterion(
    "test accuracy (%)", "consensus_accuracy", "workers_accuracy_mean", "test_accuracy_percent", 100
)
NEGATIVE_ELBO = Criterion(
    "negative ELBO (nats)", "consensus_loss", "workers_loss_mean", "negative_elbo"
)
TRAIN_NEGATIVE_ELBO = Criterion(
    "negative ELBO, training (nats)", None, "train_loss", "negative_elbo", same_unit=False
)
TEST_LOSS = Criterion("test loss", "consensus_loss", "workers_loss_mean", "value", digits=(3, 2))
TRAIN_LOSS = Criterion("training loss", None, "train_loss", None, digits=(3, 2))
HITTING_TIME = Criterion(
    "first hitting time (epochs)", "first_hitting", None, "first_hitting_time",
    same_unit=False, digits=(2, 0), averaged=medians,
)  # fmt: skip

_LOSSES = (NEGATIVE_ELBO, TRAIN_NEGATIVE_ELBO, TEST_LOSS, TRAIN_LOSS)
CRITERIA = {number.name: number for number in (ACCURACY, *_LOSSES, HITTING_TIME)}


# The paper's numbers, and which of them to compare with each of our rows.


def sole_dataset(reference: str | Path) -> str | None:
    """The data set of the paper's numbers, if all are for the same one."""
    names = pd.read_csv(found(reference))["dataset"].unique()
    return names[0] if len(names) == 1 else None


def published_for(rows: pd.DataFrame, reference: str | Path, column: str | None) -> pd.Series:
    """The paper's number in ``column`` for each row, or NaN.

    It is that of the row's data set, or of the one that this stands in for; if all numbers of the
    file are for one data set, they are taken for any. In the file, the column ``partition`` is
    ``iid`` or ``noniid``. ``rows`` have the columns ``cases.CELL``.
    """
    if column is None:
        return pd.Series(float("nan"), rows.index)
    sole, names = sole_dataset(reference), rows["dataset"]
    printed_for = [sole or DATASETS[name].stands_in_for or name for name in names]
    asked = rows.assign(partition=halves(rows), dataset=printed_for)[[*CELL]].astype(object)
    numbers = pd.read_csv(found(reference))[[*CELL, column]].drop_duplicates(CELL, keep="last")
    return asked.merge(numbers, on=[*CELL], how="left")[column].set_axis(rows.index)


def halves(rows: pd.DataFrame) -> pd.Series:
    """``iid`` or ``noniid``, by the column ``partition``."""
    return rows["partition"].map(lambda name: "noniid" if PARTITIONS[name].by_label else "iid")


# The order of rows in the paper's tables.

TOPOLOGY_ORDER = ("ring", "random", "complete")
METHOD_ORDER = ("centralized", "gossip", "ngo")


def ordered(rows: pd.DataFrame) -> pd.DataFrame:
    """``rows`` in the order of the paper's tables: iid first, centralized first, ring to complete.

    ``rows`` have the columns ``cases.CELL``.
    """
    ranks = rows.assign(
        _noniid=rows["partition"] != "iid",
        _topology=rows["topology"].map({t: k for k, t in enumerate(TOPOLOGY_ORDER)}).fillna(-1),
        _method=rows["method"].map({p: k for k, p in enumerate(METHOD_ORDER)}),
    )
    order = ranks.sort_values(["dataset", "_noniid", "_topology", "_method"], kind="stable")
    return rows.loc[order.index].reset_index(drop=True)


# Methods compared.

KEYS = [*CELL]
#: What is counted in each row: runs, diverged runs, and the classes that partitions cover.
COUNTS = {
    **{"seeds": ("seed", "nunique"), "diverged": ("diverged", "sum")},
    **{f"classes_{end}": ("classes_covered", end) for end in ("min", "max")},
}

#: Methods are compared within the same data set, partition and topology.
CASES = ["dataset", "partition", "topology"]


def comparison_table(
    metrics: pd.DataFrame, reference: str | Path, criteria: Sequence[Criterion]
) -> pd.DataFrame:
    """For each criterion, one row per data set, partition, topology and method.

    Columns: ``consensus`` and ``workers``, means over seeds with 95 % half-widths (``_ci95``);
    ``paper``, and consensus − paper if the units are equal; ``ngo_minus_gossip``, paired by seed,
    in the rows of NGO; the number of runs and of diverged runs; the fewest and most classes that a
    partition covers. Raises a UserError for runs that differ in no field of the table.
    """
    rows = final(metrics)
    check_apart(rows, KEYS)
    rows = ordered(rows)
    counts = rows.groupby(KEYS, dropna=False, sort=False).agg(**COUNTS)
    tables = []
    for criterion in criteria:
        columns = {"consensus": criterion.consensus, "workers": criterion.workers}
        known = {k: criterion.factor * rows[name] for k, name in columns.items() if name}
        values = rows.assign(**{**dict.fromkeys(columns, float("nan")), **known})
        table = rows[KEYS].drop_duplicates().assign(measure=criterion.name)
        for value in columns:
            table = table.merge(criterion.averaged(values, KEYS, value), on=KEYS, how="left")
        table["paper"] = published_for(table, reference, criterion.published)
        minus_paper = table["consensus"] - table["paper"]
        table["consensus_minus_paper"] = minus_paper if criterion.same_unit else float("nan")
        compared = "consensus" if criterion.consensus else "workers"
        pairs = paired(values, CASES, compared, "ngo_minus_gossip")
        difference = criterion.averaged(pairs, CASES, "ngo_minus_gossip").assign(method="ngo")
        table = table.merge(difference, on=KEYS, how="left")
        tables.append(table.merge(counts.reset_index(), on=KEYS, how="left"))
    return pd.concat(tables, ignore_index=True)


def hitting_table(
    metrics: pd.DataFrame, targets: Mapping[str, float], reference: str | Path
) -> pd.DataFrame:
    """The epochs until the consensus model's test loss first is a target: a ``comparison_table``.

    ``targets`` are losses for ``iid`` and ``noniid`` partitions. Numbers are medians over seeds:
    ``consensus`` is inf if half of the runs or more never reach the target, and
    ``ngo_minus_gossip`` −inf if NGO alone does; seeds where neither does are left out. Further
    columns: ``reached``, the number of runs that do, and ``horizon``, the epochs of the shortest.
    """
    parts = metrics.groupby(halves(metrics))
    times = pd.concat([time_to(part, targets[half], "consensus_loss") for half, part in parts])
    runs = metrics.assign(first_hitting=metrics["run"].map(times))
    groups = final(runs).groupby(KEYS, dropna=False)
    reached = groups["first_hitting"].agg(lambda times: int(np.isfinite(times).sum()))
    ends = pd.DataFrame({"reached": reached, "horizon": groups["epoch"].min()}).reset_index()
    return comparison_table(runs, reference, [HITTING_TIME]).merge(ends, on=KEYS)


def paired(rows: pd.DataFrame, by: list[str], value: str, name: str) -> pd.DataFrame:
    """NGO − gossip of ``value`` in the column ``name``, by group ``by`` and seed.

    Within a seed, both methods saw the same partition, initial parameters, batches and graphs,
    so the difference is due to the methods. A seed with one of the two alone is left out.
    """
    wide = rows.pivot(index=[*by, "seed"], columns="method", values=value)
    wide = wide.reindex(columns=["ngo", "gossip"])
    both = rows.groupby([*by, "seed"])["method"].nunique().reindex(wide.index) == 2
    return (wide["ngo"] - wide["gossip"])[both].rename(name).reset_index()


def gains(runs: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """NGO − gossip of ``value``, by seed, for each group ``by``, in the column ``difference``.

    Each row of ``runs`` is one run; a seed with one of the two alone is left out. Columns: ``by``,
    seed, difference, diverged (whether either run diverged), method (``ngo``).
    """
    rows = runs[runs["method"].isin(["gossip", "ngo"])]
    rows = rows.assign(value=rows[value].where(~rows["diverged"]))
    pairs = paired(rows, by, "value", "difference")
    return pairs.assign(diverged=pairs["difference"].isna(), method="ngo")


# Each method at its best exponent p and synchronization rate γ, chosen by held-out accuracy.

TUNED = ["p", "gamma"]


def tuning_grid(metrics: pd.DataFrame, keys: Sequence[str] = KEYS) -> pd.DataFrame:
    """Accuracies of the consensus model by ``keys``, p and γ.

    Held-out and test accuracy in percent, each as mean and 95 % half-width over seeds, and the
    number of diverged runs. The mean is NaN if a run diverged; p and γ are NaN for centralized
    training. The held-out accuracy counts only seeds that were run at every p and γ of a method, as
    in the judge's choice. Raises a UserError for runs of one seed that differ in no column of the
    grid.
    """
    by = [*keys, *TUNED]
    last = final(metrics)
    check_apart(last, by)
    rows = ordered(last.sort_values(["p", "gamma"], ascending=[False, True], kind="stable"))
    counts = rows.groupby(by, dropna=False, sort=False)["diverged"].agg(["sum", "size"])
    grid = counts.rename(columns={"sum": "diverged", "size": "seeds"}).reset_index()
    tried = rows.groupby([*keys, "seed"], dropna=False)["run"].transform("size")
    choose = tried == tried.groupby([rows[key] for key in keys], dropna=False).transform("max")
    columns = {"held_out": ("holdout_accuracy", rows[choose]), "test": ("consensus_accuracy", rows)}
    for name, (column, own) in columns.items():
        percent = own.assign(**{name: 100 * own[column]})
        grid = grid.merge(over_seeds(percent, by, name), on=by, how="left")
    return grid


def best_settings(grid: pd.DataFrame, keys: Sequence[str] = KEYS) -> pd.DataFrame:
    """The row of ``tuning_grid`` with the best mean held-out accuracy, for each value of ``keys``.

    Ties go to the smaller γ, then to the larger p; a setting at which a run diverged comes last.
    ``edge`` is ``smallest`` or ``largest`` if the best γ is at an end of the γ that were tried at
    the same p, where a better one may be outside; ``p_edge`` is the same for p.
    """
    keys = list(keys)
    settings = best(grid.assign(score=grid["held_out"]), ["gamma", "p"], keys)
    settings = settings.drop(columns="score").sort_index()
    at_p = list(dict.fromkeys([*keys, "p"]))
    return settings.assign(
        edge=_edge(settings, grid, "gamma", at_p), p_edge=_edge(settings, grid, "p", keys)
    )


def _edge(best: pd.DataFrame, grid: pd.DataFrame, name: str, keys: list[str]) -> pd.Series:
    """Whether ``best[name]`` is the smallest or largest of several values in ``grid``."""
    tried = grid.groupby(keys, dropna=False)[name]
    low, high = (tried.transform(end)[best.index] for end in ("min", "max"))
    at = [(low < high) & (best[name] == end) for end in (low, high)]
    return pd.Series(np.select(at, ["smallest", "largest"], None), best.index)
