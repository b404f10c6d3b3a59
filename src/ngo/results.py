"""Metrics of many runs as tidy tables, and what the paper's claims come to.

One row is one evaluation of one run, with every field of the run beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from ngo import columns
from ngo.datasets import DATASETS
from ngo.files import whole_file
from ngo.registry import UserError
from ngo.statistics import Estimate, estimate

TOPOLOGY_ORDER = ("ring", "random", "complete")

# Two seeds can agree by chance (accuracies are discrete), and their interval is then empty.
SEEDS_FOR_A_VERDICT = 3

# What a row of a table of protocols is told apart by.
KEYS = ["dataset", "partition", "topology", "protocol"]


def aggregate(metrics: Iterable[str | Path]) -> pd.DataFrame:
    """The metrics files of runs as one tidy table, sorted by run and step."""
    tables = []
    for path in metrics:
        table, facts = columns.read(path, "metrics")
        tables.append(pd.DataFrame({**facts, **table}))
    if not tables:
        raise UserError("metrics: there are no files to aggregate")
    whole = pd.concat([table.dropna(axis=1, how="all") for table in tables], ignore_index=True)
    names = list(dict.fromkeys(name for table in tables for name in table))
    return whole.reindex(columns=names).sort_values(["run", "step"], ignore_index=True)


def write(table: pd.DataFrame, path: str | Path) -> None:
    """Write a tidy table as parquet."""
    with whole_file(path) as temporary:
        table.to_parquet(temporary, index=False)


def final(metrics: pd.DataFrame) -> pd.DataFrame:
    """The last evaluation of every run. A diverged run has no accuracy there: NaN."""
    last = metrics.loc[metrics.groupby("run")["step"].idxmax()].copy()
    scores = [name for name in last if "accuracy" in name or "loss" in name]
    last.loc[last["diverged"], scores] = float("nan")
    return last.reset_index(drop=True)


def over_seeds(rows: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """Mean, standard deviation, 95 % half-width and number of seeds of ``value``."""
    records = [
        {**dict(zip(by, keys, strict=True)), **vars(estimate(group[value].to_numpy()))}
        for keys, group in rows.groupby(by, dropna=False, sort=False)
    ]
    return pd.DataFrame(records)


def paired(rows: pd.DataFrame, value: str, treatment: str, control: str) -> pd.DataFrame:
    """``treatment`` − ``control`` of ``value``, seed by seed, for each partition and topology.

    Within a seed both saw the same partition, initial parameters, batches and graphs, so the
    difference is the protocols'.
    """
    by = ["dataset", "partition", "topology"]
    wide = rows.pivot(index=[*by, "seed"], columns="protocol", values=value)
    wide = wide.reindex(columns=[treatment, control])
    difference = (wide[treatment] - wide[control]).rename("difference").reset_index()
    difference = difference[difference["topology"].notna()]
    return over_seeds(difference, by, "difference")


def published(path: str | Path, dataset: str) -> pd.DataFrame:
    """The paper's numbers for ``dataset``, or for the one that it stands in for.

    ``partition`` is ``iid`` or ``noniid`` there.
    """
    reference = pd.read_csv(path)
    return reference[reference["dataset"] == (DATASETS[dataset].stands_in_for or dataset)]


def beside_published(rows: pd.DataFrame, path: str | Path, column: str) -> pd.Series:
    """For each row (with :data:`KEYS`), the paper's number in ``column``; NaN where it has none."""
    lookup = {}
    for dataset in rows["dataset"].unique():
        for line in published(path, dataset).itertuples():
            topology = None if pd.isna(line.topology) else line.topology
            lookup[dataset, line.partition, topology, line.protocol] = getattr(line, column)
    keys = [
        (
            row.dataset,
            "iid" if row.partition == "iid" else "noniid",
            None if pd.isna(row.topology) else row.topology,
            row.protocol,
        )
        for row in rows.itertuples()
    ]
    return pd.Series([lookup.get(key, float("nan")) for key in keys], index=rows.index)


def classification_table(metrics: pd.DataFrame, reference: str | Path) -> pd.DataFrame:
    """Table 1: test accuracy in percent by data set, partition, topology and protocol.

    Ours for the consensus model and for the mean of the workers' own accuracies, mean and 95 %
    half-width over seeds; the paper's, and consensus − paper; NGO − gossip paired by seed, in the
    rows of NGO; the number of classes that the partition covers, over seeds.
    """
    rows = _one_run_a_cell(final(metrics))
    percent = rows.assign(
        consensus=100 * rows["consensus_accuracy"], workers=100 * rows["workers_accuracy_mean"]
    )
    table = _ordered(percent[KEYS].drop_duplicates())
    for value in ("consensus", "workers"):
        stats = over_seeds(percent, KEYS, value)
        renamed = stats.rename(columns={"mean": value, "half_width": f"{value}_ci95"})
        table = table.merge(renamed[[*KEYS, value, f"{value}_ci95"]], on=KEYS, how="left")
    table["paper"] = beside_published(table, reference, "test_accuracy_percent")
    table["consensus_minus_paper"] = table["consensus"] - table["paper"]
    difference = paired(percent, "consensus", "ngo", "gossip").assign(protocol="ngo")
    difference = difference.rename(
        columns={"mean": "ngo_minus_gossip", "half_width": "ngo_minus_gossip_ci95"}
    )
    table = table.merge(
        difference[[*KEYS, "ngo_minus_gossip", "ngo_minus_gossip_ci95"]], on=KEYS, how="left"
    )
    groups = percent.groupby(KEYS, dropna=False, sort=False)
    counts = groups.agg(
        seeds=("seed", "nunique"),
        diverged=("diverged", "sum"),
        classes_min=("classes_covered", "min"),
        classes_max=("classes_covered", "max"),
    )
    return table.merge(counts.reset_index(), on=KEYS, how="left")


def classification_claims(metrics: pd.DataFrame, reference: str | Path) -> pd.DataFrame:
    """What the numbers in the paper's Table 1 say, and what was measured: a verdict for each.

    A paired difference ``holds`` or ``fails`` where its 95 % interval excludes 0, and is
    ``undecided`` elsewhere, unless there are too few seeds to tell. ``paper`` and ``measured`` are
    differences in percentage points.
    """
    rows = final(metrics)
    rows = rows.assign(consensus=100 * rows["consensus_accuracy"])
    table = rows[KEYS].drop_duplicates()
    table = table.assign(paper=beside_published(table, reference, "test_accuracy_percent"))
    records = []
    for (dataset, partition), group in rows.groupby(["dataset", "partition"], sort=True):
        cells = group.set_index([group["topology"].fillna(""), "protocol", "seed"])["consensus"]
        theirs = table[(table["dataset"] == dataset) & (table["partition"] == partition)]
        theirs = theirs.set_index([theirs["topology"].fillna(""), "protocol"])["paper"]
        for one, other in _comparisons(theirs.index):
            better, worse = (one, other) if theirs[one] > theirs[other] else (other, one)
            pairs = (cells[better] - cells[worse]).to_numpy()
            expected = theirs[better] - theirs[worse]
            measured = estimate(pairs)
            records.append(
                {
                    "dataset": dataset,
                    "partition": partition,
                    "claim": f"{_name(better)} > {_name(worse)}",
                    "paper": expected,
                    "measured": measured.mean,
                    "ci95": measured.half_width,
                    "seeds": measured.count,
                    "verdict": _verdict(measured),
                }
            )
    return pd.DataFrame(records)


def _one_run_a_cell(rows: pd.DataFrame) -> pd.DataFrame:
    """``rows``, if no two of one seed fall into the same cell of a table of protocols."""
    twice = rows[rows.duplicated([*KEYS, "seed"], keep=False)]
    if len(twice):
        names = ", ".join(sorted(twice["run"])[:2])
        raise ValueError(
            f"runs are told apart here by {', '.join(KEYS)} and seed alone, but there are {names}; "
            f"give runs that differ otherwise an experiment of their own"
        )
    return rows


def _comparisons(cells: pd.Index) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """The pairs of cells, each (topology, protocol), that the paper's text compares: NGO with
    gossip, a topology with the next denser one, centralized with the complete graph.
    """
    pairs = [((t, "ngo"), (t, "gossip")) for t in TOPOLOGY_ORDER]
    for protocol in ("gossip", "ngo"):
        for more, fewer in zip(TOPOLOGY_ORDER[1:], TOPOLOGY_ORDER, strict=False):
            pairs.append(((more, protocol), (fewer, protocol)))
        pairs.append((("", "centralized"), ("complete", protocol)))
    return [pair for pair in pairs if all(cell in cells for cell in pair)]


def _name(cell: tuple[str, str]) -> str:
    topology, protocol = cell
    return f"{topology} {protocol}".strip()


def _verdict(difference: Estimate) -> str:
    if difference.count < SEEDS_FOR_A_VERDICT:
        return "too few seeds"
    if not difference.excludes_zero:
        return "undecided"
    return "holds" if difference.mean > 0 else "fails"


def _ordered(cells: pd.DataFrame) -> pd.DataFrame:
    """Rows as the paper's tables have them: iid first, centralized first, ring to complete."""
    ranks = cells.assign(
        _noniid=cells["partition"] != "iid",
        _topology=cells["topology"].map({t: k for k, t in enumerate(TOPOLOGY_ORDER)}).fillna(-1),
        _protocol=cells["protocol"].map({"centralized": 0, "gossip": 1, "ngo": 2}).fillna(3),
    )
    order = ranks.sort_values(["dataset", "_noniid", "_topology", "_protocol"], kind="stable")
    return cells.loc[order.index].reset_index(drop=True)


def trajectory_table(p: float, states, V) -> pd.DataFrame:
    """A consensus trajectory ``[rounds + 1, n, 1]`` as rows of (p, round, worker, x, V)."""
    rounds, n = states.shape[:2]
    index = pd.MultiIndex.from_product([range(rounds), range(n)], names=["round", "worker"])
    table = pd.DataFrame({"p": p, "x": states.numpy().ravel()}, index=index).reset_index()
    return table.assign(V=V.numpy()[table["round"]])[["p", "round", "worker", "x", "V"]]


def spectral_table(
    topologies: Iterable[str], workers: Iterable[int], u: float, draws: int, seed: int
) -> pd.DataFrame:
    """Degree and spectral gap by topology and n (Table S1).

    A random topology's are means over ``draws`` graphs from the stream (seed, "spectra", n).
    """
    from ngo.graphs import TOPOLOGIES, metropolis_hastings, spectral_gap
    from ngo.seeding import torch_stream

    records = []
    for name in topologies:
        entry = TOPOLOGIES[name]
        for n in workers:
            generator = torch_stream(seed, "spectra", n)
            graphs = (
                [entry.edges(n, u, generator) for _ in range(draws)]
                if entry.random
                else [entry.edges(n)]
            )
            gaps = [spectral_gap(metropolis_hastings(n, graph)) for graph in graphs]
            degrees = [2 * len(graph) / n for graph in graphs]
            records.append(
                {
                    "topology": name,
                    "u": u if entry.random else float("nan"),
                    "n": n,
                    "draws": len(graphs),
                    "degree": estimate(degrees).mean,
                    "spectral_gap": estimate(gaps).mean,
                    "spectral_gap_std": estimate(gaps).std,
                }
            )
    return pd.DataFrame(records)


def spectral_comparison(spectra: pd.DataFrame, reference: str | Path) -> pd.DataFrame:
    """Table S1: our degrees and spectral gaps, and the paper's where it printed one.

    ``agrees`` says whether ours, rounded as the paper rounded, is what it printed.
    """
    printed = pd.read_csv(reference, dtype={"spectral_gap": str})
    printed = printed.rename(columns={"spectral_gap": "paper", "node_degree": "paper_degree"})
    table = spectra.merge(printed, on=["topology", "n"], how="left")
    decimals = table["paper"].str.partition(".")[2].str.len()
    ours = [
        f"{gap:.{int(places)}f}" if pd.notna(places) else None
        for gap, places in zip(table["spectral_gap"], decimals, strict=True)
    ]
    agrees = pd.Series(ours, index=table.index) == table["paper"]
    table["agrees"] = agrees.map({True: "yes", False: "no"}).where(table["paper"].notna())
    table["paper"] = table["paper"].astype(float)
    table["difference"] = table["spectral_gap"] - table["paper"]
    return table


def class_counts(partitions: Iterable[str | Path]) -> pd.DataFrame:
    """Samples per class and worker of partition files, one row for each pair, zeros included."""
    tables = []
    for path in partitions:
        table, facts = columns.read(path, "partitions")
        classes = range(DATASETS[facts["dataset"]].classes)
        counts = pd.DataFrame(table).groupby(["worker", "label"]).size()
        index = pd.MultiIndex.from_product(
            [range(facts["workers"]), classes], names=["worker", "label"]
        )
        counts = counts.reindex(index, fill_value=0).rename("samples").reset_index()
        tables.append(pd.DataFrame({**facts, **{name: counts[name] for name in counts}}))
    return pd.concat(tables, ignore_index=True)


def consensus_rounds(trajectories: pd.DataFrame, share: float) -> pd.DataFrame:
    """For each p: the first round with V ≤ ``share`` · V(0), else NaN, and the last V."""
    records = []
    for p, group in trajectories.drop_duplicates(["p", "round"]).groupby("p"):
        V = group.set_index("round")["V"].sort_index()
        reached = V.index[share * V.iloc[0] >= V]
        records.append(
            {
                "p": p,
                "V_initial": V.iloc[0],
                "first_round": reached[0] if len(reached) else float("nan"),
                "V_final": V.iloc[-1],
            }
        )
    return pd.DataFrame(records)
