"""Printed tables and figures of methods compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngo import plots
from ngo.analysis.best_in_rounds import LINEAR
from ngo.analysis.best_in_training import TUNED
from ngo.analysis.cases import worded
from ngo.analysis.comparisons import ACCURACY, CRITERIA, KEYS, best_settings
from ngo.analysis.seed_means import with_ends
from ngo.plots import captions
from ngo.plots.curves import in_rows
from ngo.plots.style import kth_style
from ngo.printing import dashed, number, plus_minus
from verdicts.statistics import ABSENT


def print_comparison(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of ``comparisons.comparison_table``."""
    ours, theirs = zip(*(CRITERIA[name].digits for name in table["measure"]), strict=True)
    columns = {
        **({"Measure": table["measure"]} if table["measure"].nunique() > 1 else {}),
        **cell(table),
        "Consensus": with_interval(table, "consensus", ours),
        "Workers": with_interval(table, "workers", ours),
        "Paper": with_decimals(table["paper"], theirs),
        "Consensus − paper": with_decimals(table["consensus_minus_paper"], ours, plus=True),
        "NGO − gossip": with_interval(table, "ngo_minus_gossip", ours, plus=True),
        "Classes": table.filter(regex="^classes_").apply(captions.span, axis=1, form="{:g}"),
        **diverged(table),
    }
    return pd.DataFrame(columns)


def cell(table: pd.DataFrame) -> dict[str, pd.Series]:
    """The columns that name the data set, partition, topology and method."""
    return {
        "Data": table["dataset"],
        "Partition": table["partition"],
        "Topology": table["topology"].fillna(ABSENT),
        "Method": table["method"],
    }


def diverged(table: pd.DataFrame) -> dict[str, pd.Series]:
    """The column with the number of diverged runs, ``1 of 5``, in rows with one; none without."""
    lost = table["diverged"] > 0
    counts = table["diverged"].astype(str) + " of " + table["seeds"].astype(str)
    return {"Diverged": counts.where(lost, "")} if lost.any() else {}


def with_decimals(values: pd.Series, decimals: Sequence[int], *, plus: bool = False) -> list[str]:
    """Each value with its decimals."""
    return [number(value, d, plus=plus) for value, d in zip(values, decimals, strict=True)]


def with_interval(
    table: pd.DataFrame, column: str, decimals: int | Sequence[int], *, plus: bool = False
) -> list[str]:
    """Each mean in ``column`` with its half-width, in ``column``_ci95."""
    decimals = [decimals] * len(table) if isinstance(decimals, int) else decimals
    rows = zip(table[column], table[f"{column}_ci95"], decimals, strict=True)
    return [plus_minus(mean, half_width, d, plus=plus) for mean, half_width, d in rows]


def print_tuned(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of a ``comparison_table`` of each method at its own best p and γ.

    ``table`` also has the columns of ``comparisons.best_settings``, and the paper's difference in
    ``paper_ngo_minus_gossip``.
    """
    ours, theirs = ([digits] * len(table) for digits in ACCURACY.digits)
    columns = {
        **cell(table),
        "Best p": list(map(with_edge, table["p"], table["p_edge"])),
        "Best γ": list(map(with_edge, table["gamma"], table["edge"])),
        "Held out": with_interval(table, "held_out", ours),
        "Test": with_interval(table, "consensus", ours),
        "NGO − gossip": with_interval(table, "ngo_minus_gossip", ours, plus=True),
        "NGO − gossip, paper": with_decimals(table["paper_ngo_minus_gossip"], theirs, plus=True),
        **diverged(table),
    }
    return pd.DataFrame(columns)


def print_grid(grid: pd.DataFrame) -> pd.DataFrame:
    """``comparisons.tuning_grid`` as printed: a row for each cell and p, a column for each γ.

    Centralized training, which has neither, is left out.
    """
    grid = grid.dropna(subset="gamma").reset_index(drop=True)
    best = set(best_settings(grid).index)
    accuracies = with_interval(grid, "test", ACCURACY.digits[0])
    grid["shown"] = [
        f"{row.diverged} of {row.seeds} diverged" if row.diverged else text + " *" * (k in best)
        for k, (row, text) in enumerate(zip(grid.itertuples(), accuracies, strict=True))
    ]
    keys = [*KEYS, "p"]
    rows = grid[keys].drop_duplicates().reset_index(drop=True)
    printed = {**cell(rows), "p": [f"{p:g}" for p in rows["p"]]}
    for gamma, own in grid.groupby("gamma"):
        printed[f"γ = {gamma:g}"] = rows.merge(own, on=keys, how="left")["shown"].fillna(ABSENT)
    return pd.DataFrame(printed)


NOTE = (
    "Each method and coupling at the best of the p, γ and learning rates that were tried: those "
    "with the highest mean accuracy over seeds on training samples that were held out (a value at "
    "which a run diverged comes last)."
)

#: The paper's letters of ``TUNED``.
SYMBOLS = ("p", "γ", "η")


def texts(table: pd.DataFrame, runs: pd.DataFrame) -> dict[str, Any]:
    """Notes and caption of a ``combination_table`` of ``runs``, for ``plots.save``."""
    caption = (
        f"Test accuracy in percent of the mean model, {captions.mean_over_seeds(runs)}. {NOTE} "
        "Gain: over linear gossip in the same situation, at its own best values, paired by seed. "
        f"Sent: by all workers in a run. {at_an_end(table)}"
    )
    return {"notes": [NOTE, captions.intervals(runs, geometric=False)], "caption": caption}


def at_an_end(table: pd.DataFrame) -> str:
    """In how many rows the best value is the smallest or largest that was tried.

    Empty if no row had several to choose from.
    """
    counts = []
    for symbol, column in zip(SYMBOLS, TUNED, strict=True):
        tried = table[f"{column}_tried"].str.split(", ")  # in order
        several = table[tried.str.len() > 1]
        ends = [f"{row[column]:g}" in (tried[k][0], tried[k][-1]) for k, row in several.iterrows()]
        counts += [f"{symbol} in {sum(ends)} of {len(ends)} rows"] if ends else []
    if not counts:
        return ""
    return (
        "The best value is the smallest or largest of those tried, and a better one may lie "
        f"beyond: {', '.join(counts)}. "
    )


def draw_combinations(table: pd.DataFrame, row: str = "algorithm") -> Figure:
    """For each data set, accuracy and, to its right, the gain over linear gossip.

    A row for each value of the column ``row`` (and topology, if there are several), with a marker
    for each mixer.
    """
    several = table["topology"].nunique() > 1
    graphs = (", " + table["topology"]).fillna("") if several else ""
    table = table.assign(row=(table[row] + graphs).str.replace("_", " "))
    sets = list(table.groupby(["dataset", "partition"], sort=False))
    mixers = sorted(set(table["mixer"].dropna()), key=lambda name: (name != LINEAR, name))
    rows = table["row"].nunique()
    height = len(sets) * (0.7 + 0.2 * rows) + 0.9
    figure, axes = plots.panels(height, len(sets), 2, width_ratios=[1.2, 1])
    for pair, ((dataset, partition), cases) in zip(axes, sets, strict=True):
        names = list(dict.fromkeys(cases["row"]))
        _draw_values(pair[0], cases, names, mixers, "accuracy")
        _draw_values(pair[1], cases[cases["mixer"] != LINEAR], names, mixers, "gain")
        pair[1].axvline(0, color="0.6", lw=1)
        pair[0].set(xlabel="test accuracy (%)", title=f"{worded(dataset)}, {partition}")
        label = "← worse    gain over linear gossip (points)    better →"
        pair[1].set(xlabel=label, yticklabels=[], title="gain")
    plots.titles(axes.flat)
    plots.legend(figure, *axes[:, 0])
    return figure


def print_combinations(table: pd.DataFrame, **further: str) -> pd.DataFrame:
    """The printed form of ``best_in_training.combination_table``.

    ``further`` columns are named by their headings.
    """
    chosen = {
        f"Best {name}": list(map(_chosen, table[column], table[f"{column}_tried"]))
        for name, column in zip(SYMBOLS, TUNED, strict=True)
    }
    columns = {
        "Data": table["dataset"],
        "Partition": table["partition"],
        **{title: table[column] for title, column in further.items()},
        "Topology": table["topology"].fillna(ABSENT),
        "Algorithm": table["algorithm"],
        "Mixing": table["mixer"].fillna(ABSENT),
        **chosen,
        "Accuracy": with_interval(table, "accuracy", 2),
        "Gain": with_interval(table, "gain", 2, plus=True),
        "Sent": [f"{sent / 1e6:,.1f} MB" for sent in table["bytes_sent"]],
        **diverged(table),
    }
    return pd.DataFrame(columns)


def best_values(table: pd.DataFrame, heading: str = "Best {}") -> dict[str, list[str]]:
    """The printed columns of ``TUNED``."""
    pairs = zip(SYMBOLS, TUNED, strict=True)
    return {heading.format(name): dashed(table[column], "{:g}".format) for name, column in pairs}


def with_edge(value: float, edge: str | None) -> str:
    """``0.2 (smallest)``: a chosen value, and the edge of the grid if it is there."""
    text = ABSENT if pd.isna(value) else f"{value:g}"
    return text if pd.isna(edge) else f"{text} ({edge})"


def _chosen(value: float, tried: str) -> str:
    """``1 of 0.3, 1``; the value alone if no other was tried."""
    if pd.isna(value):
        return ABSENT
    return f"{value:g} of {tried}" if "," in tried else f"{value:g}"


def _draw_values(
    axis: Axes, rows: pd.DataFrame, names: list[str], mixers: list[str], value: str
) -> None:
    """A marker with its interval for each mixer, in the row of its method."""
    height, middle = 0.7 / max(1, len(mixers)), (len(mixers) - 1) / 2
    cases = [(mixer, rows[rows["mixer"] == mixer], k - middle) for k, mixer in enumerate(mixers)]
    if value == "accuracy":
        cases.append(("no coupling", rows[rows["mixer"].isna()], 0))
    for k, (name, of_mixer, place) in enumerate(cases):
        if len(of_mixer):
            found, shift = with_ends(of_mixer, value), place * height
            in_rows(axis, found, "row", names, look := kth_style(k, name), shift=shift, capsize=2)
            for row in found[found["diverged"] > 0].itertuples():  # they have no mean
                text = f"× {row.diverged} of {row.seeds} diverged"
                where = {"transform": axis.get_yaxis_transform(), "va": "center"}
                axis.text(0.01, names.index(row.row) + shift, text, color=look.colour, **where)
