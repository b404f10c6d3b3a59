"""Table S2: negative ELBO of the variational autoencoder, and its claims."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ngo.analysis.criteria import NEGATIVE_ELBO
from ngo.analysis.published import sole_dataset
from ngo.report import captions
from ngo.report.output import Output
from ngo.report.protocol_tables import VERDICTS, save_protocols


def make(metrics: str | Path, reference: str | Path, tier: str, out: str | Path) -> Output:
    """Compute and save the tables from the metrics of runs and the paper's numbers."""
    runs = pd.read_parquet(metrics)
    paper = sole_dataset(reference)
    made_by = captions.made_by(tier, runs, paper)
    tables = save_protocols(
        runs,
        reference,
        [NEGATIVE_ELBO],
        tier,
        f"{out}/tables/tableS2",
        "Table S2. Negative ELBO on the test set in nats per image (lower is better), mean ± 95 % "
        "interval over seeds: the consensus model's, the workers' own, and the paper's (on "
        f"{paper}). NGO − gossip is paired by seed. {made_by}",
        "What Table S2 of the paper says, in nats of the consensus model's negative ELBO (lower is "
        f"better). {VERDICTS} {made_by}",
    )
    return Output(tables=tables)
