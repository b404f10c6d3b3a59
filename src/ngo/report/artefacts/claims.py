"""Every claim of a file, with its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from ngo.report.captions import mixed_versions
from ngo.report.output import Output
from ngo.report.tables import save_table
from verdicts.claims.claims_file import read_claims
from verdicts.ledger import ledger
from verdicts.render.board import counted, print_board

EXPLAINED = (
    "Measured: the mean over seeds with its 95 % interval, or the number of cases. p: adjusted "
    "within the family of claims. Smallest effect: the difference that so many seeds show with "
    "power 80 %. Seeds needed: to decide the claim with that power, if what was measured is true."
)


def make(
    metrics: str | Path,
    reference: str | Path,
    tables: Iterable[str],
    network: Mapping[str, Mapping[str, float]],
    tier: str,
    out: str | Path,
) -> Output:
    """Judge the claims in ``reference`` on the tidy ``tables`` of the folder ``metrics``.

    ``network`` are the networks that claims name (``network_time.NetworkModel``). Saves a table of
    the claims, and one of their cells.
    """
    found = {name: pd.read_parquet(f"{metrics}/{name}.parquet") for name in tables}
    judged = ledger(read_claims(reference).on(network), found).assign(tier=tier)
    whole, cells = print_board(judged), print_board(judged, cells=True)
    made_by = " ".join(filter(None, [f"Tier {tier}.", mixed_versions(found.values())]))
    of_claims = judged["cell"] == ""
    save_table(
        judged[of_claims].drop(columns="cell"),
        whole,
        f"{out}/tables/claims",
        f"Claims and their verdicts. {counted(judged)} {EXPLAINED} {made_by}",
    )
    save_table(
        judged[~of_claims],
        cells,
        f"{out}/tables/claims_cells",
        "Parts of claims, each with a verdict of its own; p is adjusted within the claim. "
        f"{EXPLAINED} {made_by}",
    )
    return Output(tables=(whole, cells))
