"""Protocols beside each other and beside the paper's numbers, and what its claims come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ngo.apart import CELL
from ngo.datasets import DATASETS
from ngo.partition import PARTITIONS
from ngo.results import check_apart, final, over_seeds
from ngo.statistics import Estimate, estimate

TOPOLOGY_ORDER = ("ring", "random", "complete")
PROTOCOL_ORDER = ("centralized", "gossip", "ngo")

# Of two, the interval is 13 standard errors on either side.
SEEDS_FOR_A_VERDICT = 3

# What a row of a table of protocols is told apart by; and what protocols are compared within.
KEYS = [*CELL]
HALVES = ["dataset", "partition"]

# A cell of a table within a data set and partition: topology ("" for none) and protocol.
Cell = tuple[str, str]


@dataclass(frozen=True)
class Measure:
    """A number that protocols are compared by.

    ``consensus`` and ``workers`` are the columns of a run's last evaluation that hold it, of the
    consensus model and for the workers' mean, times ``factor``; protocols are compared by the
    first of the two that there is. ``published`` is the column of the paper's file, if it has one,
    and ``same_unit`` whether its unit is known to be ours. ``digits`` are decimals as printed, ours
    and the paper's.
    """

    name: str
    consensus: str | None
    workers: str | None
    published: str | None
    factor: float = 1.0
    higher_is_better: bool = False
    same_unit: bool = True
    digits: tuple[int, int] = (2, 2)

    @property
    def compared(self) -> str:
        """``consensus`` or ``workers``: by which of the two protocols are compared."""
        return "consensus" if self.consensus else "workers"


ACCURACY = Measure(
    "test accuracy (%)",
    "consensus_accuracy",
    "workers_accuracy_mean",
    "test_accuracy_percent",
    factor=100,
    higher_is_better=True,
)
HELD_OUT = Measure(
    "held-out accuracy (%)", "holdout_accuracy", None, None, factor=100, higher_is_better=True
)
NEGATIVE_ELBO = Measure(
    "negative ELBO (nats)", "consensus_loss", "workers_loss_mean", "negative_elbo"
)
TEST_LOSS = Measure("test loss", "consensus_loss", "workers_loss_mean", "value", digits=(3, 2))
TRAIN_LOSS = Measure("training loss", None, "train_loss", None, digits=(3, 2))
HITTING_TIME = Measure(
    "first hitting time (epochs)",
    "first_hitting",
    None,
    "first_hitting_time",
    same_unit=False,
    digits=(2, 0),
)

MEASURES = {
    measure.name: measure
    for measure in (ACCURACY, HELD_OUT, NEGATIVE_ELBO, TEST_LOSS, TRAIN_LOSS, HITTING_TIME)
}


def protocol_table(
    metrics: pd.DataFrame, reference: str | Path, measures: Sequence[Measure]
) -> pd.DataFrame:
    """For each measure, a row for each data set, partition, topology and protocol.

    ``consensus`` and ``workers``: ours, mean and 95 % half-width (``_ci95``) over seeds; ``paper``,
    and consensus − paper where the unit is the same; ``ngo_minus_gossip``, paired by seed, in the
    rows of NGO; how many runs there are and diverged; the fewest and most classes that a partition
    covers. Raises a UserError for runs that such a table can't tell apart.
    """
    rows = _cells(metrics)
    counts = rows.groupby(KEYS, dropna=False, sort=False).agg(
        seeds=("seed", "nunique"),
        diverged=("diverged", "sum"),
        classes_min=("classes_covered", "min"),
        classes_max=("classes_covered", "max"),
    )
    tables = []
    for measure in measures:
        values = _values(rows, measure)
        table = rows[KEYS].drop_duplicates().assign(measure=measure.name)
        for value in ("consensus", "workers"):
            table = _with_estimate(table, over_seeds(values, KEYS, value), value)
        table["paper"] = beside_published(table, reference, measure.published)
        minus_paper = table["consensus"] - table["paper"]
        table["consensus_minus_paper"] = minus_paper if measure.same_unit else float("nan")
        difference = paired(values, measure.compared, "ngo", "gossip").assign(protocol="ngo")
        table = _with_estimate(table, difference, "ngo_minus_gossip")
        tables.append(table.merge(counts.reset_index(), on=KEYS, how="left"))
    return pd.concat(tables, ignore_index=True)


def claims_table(
    metrics: pd.DataFrame,
    reference: str | Path,
    measures: Sequence[Measure],
    *,
    topologies: bool = True,
) -> pd.DataFrame:
    """What the paper's numbers say by each measure, and what was measured: a verdict for each.

    A claim names the better of two cells first, as the paper's numbers have it; ``paper`` and
    ``measured`` are first − second, the latter paired by seed. Where its 95 % interval excludes 0
    the claim ``holds`` or, if the difference has the other sign, ``fails``; elsewhere it is
    ``undecided``, unless there are too few seeds to tell. Equal numbers claim nothing. NGO is
    compared with gossip and, if ``topologies``, topologies are with one another.
    """
    rows = _cells(metrics)
    records = []
    for measure in measures:
        values = _values(rows, measure)
        values["paper"] = beside_published(values, reference, measure.published)
        for (dataset, partition), group in values.groupby(HALVES, sort=False):
            cells = group.set_index([group["topology"].fillna(""), "protocol", "seed"])
            cells = cells.sort_index()
            ours = cells[measure.compared]
            theirs = cells["paper"].dropna().groupby(level=[0, 1]).first()
            for one, other in _comparisons(theirs.index, topologies):
                lead = theirs[one] - theirs[other]
                if lead and (lead > 0) != measure.higher_is_better:
                    one, other, lead = other, one, -lead
                measured = estimate((ours[one] - ours[other]).to_numpy())
                sign = "=" if not lead else ">" if lead > 0 else "<"
                records.append(
                    {
                        "measure": measure.name,
                        "dataset": dataset,
                        "partition": partition,
                        "claim": f"{_name(one)} {sign} {_name(other)}",
                        "paper": lead,
                        "measured": measured.mean,
                        "ci95": measured.half_width,
                        "seeds": measured.count,
                        "verdict": _verdict(measured, lead),
                    }
                )
    return pd.DataFrame(records)


def paired(rows: pd.DataFrame, value: str, treatment: str, control: str) -> pd.DataFrame:
    """``treatment`` − ``control`` of ``value``, seed by seed, for each partition and topology.

    Within a seed both saw the same partition, initial parameters, batches and graphs, so the
    difference is the protocols'.
    """
    by = [*HALVES, "topology"]
    wide = rows.pivot(index=[*by, "seed"], columns="protocol", values=value)
    wide = wide.reindex(columns=[treatment, control])
    difference = (wide[treatment] - wide[control]).rename("difference").reset_index()
    difference = difference[difference["topology"].notna()]
    return over_seeds(difference, by, "difference")


def with_first_hitting(metrics: pd.DataFrame) -> pd.DataFrame:
    """``metrics`` with :data:`HITTING_TIME`'s column: each run's first hitting time of the accuracy
    that all protocols end with, the lowest final one of its data set, partition and seed.

    NaN for a run that diverged.
    """
    rows = final(metrics)
    targets = rows.groupby([*HALVES, "seed"])["consensus_accuracy"].transform("min")
    times = first_hitting(metrics, targets.set_axis(rows["run"]))
    times = times.where(~rows.set_index("run")["diverged"])
    return metrics.assign(first_hitting=metrics["run"].map(times))


def first_hitting(metrics: pd.DataFrame, target: pd.Series) -> pd.Series:
    """By run, the epoch of the first evaluation at which the consensus model's accuracy is at least
    ``target`` (by run too); NaN for a run that never gets there.
    """
    there = metrics["consensus_accuracy"] >= metrics["run"].map(target)
    return metrics[there].groupby("run")["epoch"].min().reindex(metrics["run"].unique())


def sole_dataset(reference: str | Path) -> str | None:
    """The data set of the paper's numbers, if they are of a single one."""
    names = pd.read_csv(reference)["dataset"].unique()
    return names[0] if len(names) == 1 else None


def published(reference: str | Path, dataset: str) -> pd.DataFrame:
    """The paper's numbers for ``dataset``, or for the one that it stands in for; for any data set
    if there are numbers of a single one. ``partition`` is ``iid`` or ``noniid`` there.
    """
    name = sole_dataset(reference) or DATASETS[dataset].stands_in_for or dataset
    numbers = pd.read_csv(reference)
    return numbers[numbers["dataset"] == name]


def beside_published(rows: pd.DataFrame, reference: str | Path, column: str | None) -> pd.Series:
    """For each row (with :data:`KEYS`), the paper's number in ``column``; NaN where it has none."""
    lookup = {}
    for dataset in rows["dataset"].unique() if column else ():
        for line in published(reference, dataset).itertuples():
            topology = None if pd.isna(line.topology) else line.topology
            lookup[dataset, line.partition, topology, line.protocol] = getattr(line, column)
    keys = [
        (
            row.dataset,
            "noniid" if PARTITIONS[row.partition].by_label else "iid",
            None if pd.isna(row.topology) else row.topology,
            row.protocol,
        )
        for row in rows.itertuples()
    ]
    return pd.Series([lookup.get(key, float("nan")) for key in keys], index=rows.index)


def _cells(metrics: pd.DataFrame) -> pd.DataFrame:
    """The last evaluations, in the order of the paper's tables: iid first, centralized first, ring
    to complete. No two of one seed may fall into the same cell.
    """
    rows = final(metrics)
    check_apart(rows, KEYS)
    return ordered(rows)


def ordered(rows: pd.DataFrame) -> pd.DataFrame:
    """``rows`` (with :data:`KEYS`) in the order of the paper's tables."""
    ranks = rows.assign(
        _noniid=rows["partition"] != "iid",
        _topology=rows["topology"].map({t: k for k, t in enumerate(TOPOLOGY_ORDER)}).fillna(-1),
        _protocol=rows["protocol"].map({p: k for k, p in enumerate(PROTOCOL_ORDER)}),
    )
    order = ranks.sort_values(["dataset", "_noniid", "_topology", "_protocol"], kind="stable")
    return rows.loc[order.index].reset_index(drop=True)


def _values(rows: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """``rows`` with ``measure`` in the columns consensus and workers."""
    columns = {"consensus": measure.consensus, "workers": measure.workers}
    return rows.assign(
        **{
            value: measure.factor * rows[column] if column else float("nan")
            for value, column in columns.items()
        }
    )


def _with_estimate(table: pd.DataFrame, stats: pd.DataFrame, name: str) -> pd.DataFrame:
    """``table`` with the means in ``stats`` as the column ``name``, and their half-widths."""
    stats = stats.rename(columns={"mean": name, "half_width": f"{name}_ci95"})
    return table.merge(stats[[*KEYS, name, f"{name}_ci95"]], on=KEYS, how="left")


def _comparisons(cells: pd.Index, topologies: bool) -> list[tuple[Cell, Cell]]:
    """The pairs of cells that the paper's text compares: NGO with gossip, a topology with the next
    denser one, centralized with the complete graph.
    """
    pairs = [((t, "ngo"), (t, "gossip")) for t in TOPOLOGY_ORDER]
    for protocol in ("gossip", "ngo") if topologies else ():
        for more, fewer in zip(TOPOLOGY_ORDER[1:], TOPOLOGY_ORDER, strict=False):
            pairs.append(((more, protocol), (fewer, protocol)))
        pairs.append((("", "centralized"), ("complete", protocol)))
    return [pair for pair in pairs if all(cell in cells for cell in pair)]


def _name(cell: Cell) -> str:
    topology, protocol = cell
    return f"{topology} {protocol}".strip()


def _verdict(measured: Estimate, lead: float) -> str:
    """What ``measured`` says of a difference with the sign of ``lead``; ``undecided`` too where all
    seeds differ by the same: no interval comes from no spread.
    """
    if not lead:
        return "no difference printed"
    if measured.count < SEEDS_FOR_A_VERDICT:
        return "too few seeds"
    if not measured.excludes_zero:
        return "undecided"
    return "holds" if (measured.mean > 0) == (lead > 0) else "fails"
