"""Negative ELBO of a variational autoencoder by partition, topology and method, in nats per
image, next to the paper's numbers. Lower is better; the paper calls it ELBO, and does not say of
which images. Its supplement states 2 codes; there are also runs with 20, and the loss on the
training batches.

*The paper:* NGO is better than linear gossip for both partitions, and almost as good as centralized
learning. *Look at* the differences, paired by seed.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.comparisons import comparison_table
from ngo.analysis.criteria import NEGATIVE_ELBO, TRAIN_NEGATIVE_ELBO
from ngo.analysis.published import sole_dataset
from ngo.plots import captions
from ngo.plots.comparison_tables import print_comparison
from ngo.plots.declaration import table

CRITERIA = (NEGATIVE_ELBO, TRAIN_NEGATIVE_ELBO)


@table(
    "tableS2",
    section="Supplement",
    title="Table S2: negative ELBO of the variational autoencoder, with 2 codes and with 20",
    reads={"metrics": "tableS2", "codes": "tableS2_codes"},
    reference="tableS2_vae_elbo",
)
def numbers(metrics: pd.DataFrame, codes: pd.DataFrame, reference: Path) -> pd.DataFrame:
    """The rows of ``comparison_table`` for each model, with the column ``model``.

    ``codes`` are the runs with another number of codes.
    """
    runs = pd.concat([metrics, codes], ignore_index=True)
    tables = [
        comparison_table(rows, reference, CRITERIA).assign(model=model)
        for model, rows in runs.groupby("model", sort=True)
    ]
    return pd.concat(tables, ignore_index=True)


def caption(numbers: pd.DataFrame, reference: Path, **runs: pd.DataFrame) -> str:
    """What the columns are."""
    mean = captions.mean_over_seeds(pd.concat(runs.values(), ignore_index=True))
    return (
        "Table S2. Negative ELBO in nats per image (lower is better), "
        f"{mean}: the consensus model's and the workers' own on the test "
        "set, the workers' on their own batches (training), and the paper's (on "
        f"{sole_dataset(reference)}; it does not say of which images). mnist_vae has the 2 codes "
        "that the paper's supplement states, mnist_vae_20 has 20. NGO − gossip is paired by seed."
    )


def show(numbers: pd.DataFrame) -> pd.DataFrame:
    """The table as it is printed."""
    printed = print_comparison(numbers)
    printed.insert(0, "Model", numbers["model"])
    return printed
