"""Methods compared with each other and with the paper's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ngo.analysis.apart import CELL
from ngo.analysis.criteria import Criterion
from ngo.analysis.published import published_for
from ngo.analysis.row_order import ordered
from ngo.analysis.seed_means import check_apart, over_seeds
from verdicts.rows.evaluations import final

KEYS = [*CELL]
COUNTS = {
    **{"seeds": ("seed", "nunique"), "diverged": ("diverged", "sum")},
    **{f"classes_{end}": ("classes_covered", end) for end in ("min", "max")},
}
"""What is counted in each row: runs, diverged runs, and the classes that partitions cover."""

HALVES = ["dataset", "partition"]
"""Methods are compared within the same data set and partition."""


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
        values = values_by(criterion, rows)
        table = rows[KEYS].drop_duplicates().assign(measure=criterion.name)
        for value in ("consensus", "workers"):
            table = table.merge(over_seeds(values, KEYS, value), on=KEYS, how="left")
        table["paper"] = published_for(table, reference, criterion.published)
        minus_paper = table["consensus"] - table["paper"]
        table["consensus_minus_paper"] = minus_paper if criterion.same_unit else float("nan")
        difference = ngo_minus_gossip(values, criterion.compared).assign(method="ngo")
        table = table.merge(difference, on=KEYS, how="left")
        tables.append(table.merge(counts.reset_index(), on=KEYS, how="left"))
    return pd.concat(tables, ignore_index=True)


def ngo_minus_gossip(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    """NGO − gossip of ``value``, paired by seed, for each partition and topology.

    Within a seed, both methods saw the same partition, initial parameters, batches and graphs,
    so the difference is due to the methods.
    """
    by = [*HALVES, "topology"]
    wide = rows.pivot(index=[*by, "seed"], columns="method", values=value)
    wide = wide.reindex(columns=["ngo", "gossip"])
    difference = (wide["ngo"] - wide["gossip"]).rename("ngo_minus_gossip").reset_index()
    return over_seeds(difference[difference["topology"].notna()], by, "ngo_minus_gossip")


def gains(runs: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """NGO − gossip of ``value``, by seed, for each group ``by``, in the column ``difference``.

    Each row of ``runs`` is one run; a seed with one of the two alone is left out. Columns: ``by``,
    seed, difference, diverged (whether either run diverged), method (``ngo``), run.
    """
    rows = runs[runs["method"].isin(["gossip", "ngo"])]
    rows = rows.assign(value=rows[value].where(~rows["diverged"]))
    wide = rows.pivot(index=[*by, "seed"], columns="method", values="value")
    wide = wide.reindex(columns=["gossip", "ngo"])
    both = rows.groupby([*by, "seed"])["method"].nunique().reindex(wide.index) == 2
    pairs = (wide["ngo"] - wide["gossip"])[both].rename("difference").reset_index()
    name = pairs[[*by, "seed"]].astype(str).agg("-".join, axis=1)
    return pairs.assign(diverged=pairs["difference"].isna(), method="ngo", run=name)


def values_by(criterion: Criterion, rows: pd.DataFrame) -> pd.DataFrame:
    """``rows`` with the values of ``criterion`` in the columns ``consensus`` and ``workers``."""
    columns = {"consensus": criterion.consensus, "workers": criterion.workers}
    values = {name: criterion.factor * rows[each] for name, each in columns.items() if each}
    return rows.assign(**{**dict.fromkeys(columns, float("nan")), **values})
