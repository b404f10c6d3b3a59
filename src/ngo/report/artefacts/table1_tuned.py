"""Table 1 with each protocol at its own best γ."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.tuning import tuned_claims, tuned_table
from ngo.report import captions
from ngo.report.output import Output
from ngo.report.protocol_tables import (
    VERDICTS,
    cell,
    digits,
    diverged,
    numbers,
    print_claims,
    with_interval,
)
from ngo.report.tables import ABSENT, save_table


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
        "Table 1 with each protocol at its own best γ: that with the highest mean accuracy over "
        "seeds on training samples that were held out (of equals the smaller γ; one at which a run "
        "diverged comes last; smallest or largest: it is at the edge of the grid, and a better one "
        "may lie beyond). Accuracy in percent of the consensus model, "
        f"{captions.mean_over_seeds(runs)}: held out and on the test set at that γ, and on the "
        "test set at every γ. NGO − gossip is each at its own best γ, paired by seed; the paper "
        "does not state its γ. "
        f"{made_by}",
    )
    claims = tuned_claims(runs, reference).assign(tier=tier)
    verdicts = print_claims(claims)
    save_table(
        claims,
        verdicts,
        f"{out}/tables/table1_tuned_claims",
        "What Table 1 of the paper says of NGO and gossip, with each at its own best γ, in "
        f"percentage points of the consensus model's test accuracy. {VERDICTS} {made_by}",
    )
    return Output(tables=(printed, verdicts))


def print_tuned(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of ``tuning.tuned_table``."""
    ours, theirs = digits(table)
    prefix = "diverged_"
    gammas = [name.removeprefix(prefix) for name in table if name.startswith(prefix)]
    chosen = [
        ABSENT if pd.isna(gamma) else f"{gamma:g}" if pd.isna(edge) else f"{gamma:g} ({edge})"
        for gamma, edge in zip(table["gamma"], table["edge"], strict=True)
    ]
    grid = {}
    for gamma in gammas:
        accuracies = with_interval(table, f"test_{gamma}", ours)
        grid[f"γ = {gamma}"] = [
            f"{lost:g} of {seeds:g} diverged" if lost > 0 else accuracy
            for accuracy, lost, seeds in zip(
                accuracies, table[f"{prefix}{gamma}"], table["seeds"], strict=True
            )
        ]
    return pd.DataFrame(
        {
            **cell(table),
            "Best γ": chosen,
            "Held out": with_interval(table, "held_out", ours),
            "Test": with_interval(table, "consensus", ours),
            "NGO − gossip": with_interval(table, "ngo_minus_gossip", ours, plus=True),
            "NGO − gossip, paper": numbers(table["paper_ngo_minus_gossip"], theirs, plus=True),
            **grid,
            "Diverged": diverged(table),
        }
    )
