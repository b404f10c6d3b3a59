"""Table 1 with each method at its own best exponent p and synchronization rate γ."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.comparisons import KEYS
from ngo.analysis.criteria import ACCURACY
from ngo.analysis.tuning import best_settings, tuned_table, tuning_grid
from ngo.figures import captions
from ngo.figures.comparison_tables import (
    cell,
    digits,
    diverged,
    numbers,
    with_interval,
)
from ngo.figures.output import Output
from ngo.figures.tables import save_table
from verdicts.row import ABSENT


def make(metrics: str | Path, reference: str | Path, tier: str, out: str | Path) -> Output:
    """Compute and save the tables from the metrics of runs and the paper's numbers."""
    runs = pd.read_parquet(metrics)
    made_by = captions.made_by(tier, runs)
    table = tuned_table(runs, reference).assign(tier=tier)
    printed = print_tuned(table)
    save_table(
        table,
        printed,
        f"{out}/tables/table1_tuned",
        "Table 1 with each method at its own best p and γ: those with the highest mean accuracy "
        "over seeds on training samples that were held out (of equals the smaller γ; a setting at "
        "which a run diverged comes last; smallest or largest: at the edge of the grid, and a "
        "better value may lie beyond). Accuracy in percent of the consensus model, "
        f"{captions.mean_over_seeds(runs)}: held out, and on the test set. NGO − gossip is each at "
        f"its own best p and γ, paired by seed; the paper states neither. {made_by}",
    )
    grid = tuning_grid(runs).assign(tier=tier)
    tried = print_grid(grid)
    save_table(
        grid,
        tried,
        f"{out}/tables/table1_tuned_grid",
        "Test accuracy in percent of the consensus model at every p and γ that was tried, "
        f"{captions.mean_over_seeds(runs)}. *: the best held-out accuracy of the method on that "
        f"topology. {made_by}",
    )
    return Output(tables=(printed, tried))


def print_tuned(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of ``tuning.tuned_table``."""
    ours, theirs = digits(table)
    return pd.DataFrame(
        {
            **cell(table),
            "Best p": _chosen(table["p"], table["p_edge"]),
            "Best γ": _chosen(table["gamma"], table["edge"]),
            "Held out": with_interval(table, "held_out", ours),
            "Test": with_interval(table, "consensus", ours),
            "NGO − gossip": with_interval(table, "ngo_minus_gossip", ours, plus=True),
            "NGO − gossip, paper": numbers(table["paper_ngo_minus_gossip"], theirs, plus=True),
            "Diverged": diverged(table),
        }
    )


def print_grid(grid: pd.DataFrame) -> pd.DataFrame:
    """The printed form of ``tuning.tuning_grid``: a row for each cell and p, a column for each γ.

    Centralized training, which has neither, is left out.
    """
    grid = grid.dropna(subset="gamma").reset_index(drop=True)
    best = set(best_settings(grid).index)
    accuracies = with_interval(grid, "test", [ACCURACY.digits[0]] * len(grid))
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
