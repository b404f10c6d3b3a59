"""Table S2: negative ELBO of the variational autoencoder, with the paper's 2 codes and with 20."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.comparisons import comparison_table
from ngo.analysis.criteria import NEGATIVE_ELBO, TRAIN_NEGATIVE_ELBO
from ngo.analysis.published import sole_dataset
from ngo.figures import captions
from ngo.figures.comparison_tables import print_comparison
from ngo.figures.output import Output
from ngo.figures.tables import save_table

CRITERIA = (NEGATIVE_ELBO, TRAIN_NEGATIVE_ELBO)


def make(
    metrics: str | Path, codes: str | Path, reference: str | Path, tier: str, out: str | Path
) -> Output:
    """Compute and save the table from the metrics of runs and the paper's numbers.

    ``codes`` are the metrics of the runs with another number of codes.
    """
    runs = pd.concat([pd.read_parquet(metrics), pd.read_parquet(codes)], ignore_index=True)
    table = elbo_table(runs, reference).assign(tier=tier)
    printed = print_comparison(table)
    printed.insert(0, "Model", table["model"])
    paper = sole_dataset(reference)
    save_table(
        table,
        printed,
        f"{out}/tables/tableS2",
        "Table S2. Negative ELBO in nats per image (lower is better), "
        f"{captions.mean_over_seeds(runs)}: the consensus model's and the workers' own on the test "
        "set, the workers' on their own batches (training), and the paper's (on "
        f"{paper}; it does not say of which images). mnist_vae has the 2 codes that the paper's "
        "supplement states, mnist_vae_20 has 20. NGO − gossip is paired by seed. "
        f"{captions.made_by(tier, runs, paper)}",
    )
    return Output(tables=(printed,))


def elbo_table(runs: pd.DataFrame, reference: str | Path) -> pd.DataFrame:
    """The rows of ``comparisons.comparison_table`` for each model, with the column ``model``."""
    tables = [
        comparison_table(rows, reference, CRITERIA).assign(model=model)
        for model, rows in runs.groupby("model", sort=True)
    ]
    return pd.concat(tables, ignore_index=True)
