"""Table 1 with each method at its own best p and γ, chosen on training data held out for that
purpose. A second table has every p and γ that was tried. Gossip has p = 1; centralized training has
neither.

The paper states neither, and does not say whether it chose them for each method. A comparison at
the same γ and a comparison at each method's own best γ answer different questions. *Look at* how
much of the difference NGO − gossip in Table 1 remains.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.comparisons import KEYS, comparison_table
from ngo.analysis.criteria import ACCURACY
from ngo.analysis.published import published_for
from ngo.analysis.tuning import TUNED, best_settings, tuning_grid
from ngo.plots import captions
from ngo.plots.comparison_tables import cell, digits, diverged, with_decimals, with_interval
from ngo.plots.declaration import Tables, table
from verdicts.row import ABSENT

BEST, GRID = "table1_tuned", "table1_tuned_grid"


@table(
    "table1_tuned",
    section="What the paper leaves open",
    title="Table 1 with each method at its own best p and γ",
    tables=("table1_tuned_grid",),
    reference="table1_classification",
    apart=("dataset", "partition", "topology", "method", "p", "gamma"),
)
def numbers(metrics: pd.DataFrame, reference: Path) -> Tables:
    """The accuracies of each method at its best p and γ, and those at all that were tried."""
    return {BEST: tuned_table(metrics, reference), GRID: tuning_grid(metrics)}


def tuned_table(metrics: pd.DataFrame, reference: str | Path) -> pd.DataFrame:
    """Table 1 with each method at its own best p and γ (``comparisons.comparison_table``).

    Further columns: that ``p`` and ``gamma``, whether they are at an edge of the grid, and the
    held-out accuracy; the paper's NGO − gossip.
    """
    chosen = best_settings(tuning_grid(metrics))
    runs = metrics.merge(chosen[[*KEYS, *TUNED]], on=[*KEYS, *TUNED])
    table = comparison_table(runs, reference, [ACCURACY])
    chosen = chosen[[*KEYS, *TUNED, "edge", "p_edge", "held_out", "held_out_ci95"]]
    table = chosen.merge(table, on=KEYS, how="right")
    gossip = published_for(table.assign(method="gossip"), reference, ACCURACY.published)
    minus = (table["paper"] - gossip).where(table["method"] == "ngo")
    return table.assign(paper_ngo_minus_gossip=minus)


def caption(numbers: Tables, metrics: pd.DataFrame, reference: Path) -> dict[str, str]:
    """What the columns are."""
    mean = captions.mean_over_seeds(metrics)
    return {
        BEST: "Table 1 with each method at its own best p and γ: those with the highest mean "
        "accuracy over seeds on training samples that were held out (of equals the smaller γ; a "
        "setting at which a run diverged comes last; smallest or largest: at the edge of the grid, "
        "and a better value may lie beyond). Accuracy in percent of the consensus model, "
        f"{mean}: held out, and on the test set. NGO − gossip is each at its own best p and γ, "
        "paired by seed; the paper states neither.",
        GRID: "Test accuracy in percent of the consensus model at every p and γ that was tried, "
        f"{mean}. *: the best held-out accuracy of the method on that topology.",
    }


def show(numbers: Tables) -> Tables:
    """The tables as they are printed."""
    return {BEST: _print_tuned(numbers[BEST]), GRID: _print_grid(numbers[GRID])}


def _print_tuned(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of ``tuned_table``."""
    (ours, theirs), paper = digits(table), table["paper_ngo_minus_gossip"]
    return pd.DataFrame(
        {
            **cell(table),
            "Best p": _chosen(table["p"], table["p_edge"]),
            "Best γ": _chosen(table["gamma"], table["edge"]),
            "Held out": with_interval(table, "held_out", ours),
            "Test": with_interval(table, "consensus", ours),
            "NGO − gossip": with_interval(table, "ngo_minus_gossip", ours, plus=True),
            "NGO − gossip, paper": with_decimals(paper, theirs, plus=True),
            **diverged(table),
        }
    )


def _print_grid(grid: pd.DataFrame) -> pd.DataFrame:
    """The printed form of ``tuning.tuning_grid``: a row for each cell and p, a column for each γ.

    Centralized training, which has neither, is left out.
    """
    grid = grid.dropna(subset="gamma").reset_index(drop=True)
    best = set(best_settings(grid).index)
    accuracies = with_interval(grid, "test", ACCURACY.digits[0])
    shown = [
        f"{row.diverged} of {row.seeds} diverged" if row.diverged else text + " *" * (k in best)
        for k, (row, text) in enumerate(zip(grid.itertuples(), accuracies, strict=True))
    ]
    keys = [*KEYS, "p"]
    rows = grid[keys].drop_duplicates().reset_index(drop=True)
    printed = {**cell(rows), "p": [f"{p:g}" for p in rows["p"]]}
    for gamma in sorted(grid["gamma"].unique()):
        own = grid.assign(shown=shown)[grid["gamma"] == gamma]
        printed[f"γ = {gamma:g}"] = rows.merge(own, on=keys, how="left")["shown"].fillna(ABSENT)
    return pd.DataFrame(printed)


def _chosen(values: pd.Series, edges: pd.Series) -> list[str]:
    """The chosen values, with the edge of the grid at which they are."""
    return [
        ABSENT if pd.isna(value) else f"{value:g}" if pd.isna(edge) else f"{value:g} ({edge})"
        for value, edge in zip(values, edges, strict=True)
    ]
