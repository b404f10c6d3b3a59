"""Every claim of a file, with its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from ngo.common.former import read_claims
from ngo.figures.captions import mixed_versions
from ngo.figures.output import Output
from ngo.figures.tables import save_table
from verdicts.ledger import judged
from verdicts.render.board import EXPLAINED, counted, print_board
from verdicts.row import as_table


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
    rows = judged(read_claims(reference).with_named("network", network), found)
    table = as_table(rows).assign(tier=tier)
    whole, cells = print_board(rows), print_board(rows, cells=True)
    made_by = " ".join(filter(None, [f"Tier {tier}.", mixed_versions(found.values())]))
    of_claims = table["cell"] == ""
    save_table(
        table[of_claims],
        whole,
        f"{out}/tables/claims",
        f"Claims and their verdicts. {counted(rows)} {EXPLAINED} {made_by}",
    )
    save_table(
        table[~of_claims],
        cells,
        f"{out}/tables/claims_cells",
        "Parts of claims, each with a verdict of its own; p is adjusted within the claim. "
        f"{EXPLAINED} {made_by}",
    )
    return Output(tables=(whole, cells))
