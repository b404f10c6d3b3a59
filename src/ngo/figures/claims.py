"""Every claim, and what was found of it: it holds, fails, is equivalent to no effect, is undecided,
or was not run, with the reason.

*Look at* the verdicts first. Then at the smallest effect that so many seeds could have shown: a
claim that is undecided may be true of a smaller one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

import ngo.analysis  # noqa: F401 (registers the quantities and values that claims name)
from ngo.common.former import read_claims
from ngo.figures.declaration import Tables, table
from verdicts.ledger import judged
from verdicts.render import EXPLAINED, print_board
from verdicts.row import as_table, counted, counts, rows_of

WHOLE, CELLS = "claims", "claims_cells"


@table(
    "claims",
    section="Claims",
    title="Every claim, with its verdict",
    reads="*",
    tables=("claims_cells",),
    apart=None,
)
def numbers(
    metrics: Mapping[str, pd.DataFrame], claims: Path, network: Mapping[str, Mapping[str, float]]
) -> Tables:
    """The rows of the verdicts on the file ``claims``: of claims, and of their cells.

    ``metrics`` are tidy tables by name. ``network`` are the networks that claims name
    (``network_time.NetworkModel``).
    """
    rows = as_table(judged(read_claims(claims).with_named("network", network), metrics))
    whole = rows["cell"] == ""
    return {WHOLE: rows[whole], CELLS: rows[~whole]}


def show(numbers: Tables) -> Tables:
    """Both tables as they are printed."""
    return {name: print_board(rows_of(numbers[name]), cells=name == CELLS) for name in numbers}


def caption(numbers: Tables, **inputs: object) -> dict[str, str]:
    """The number of claims with each verdict, and what the columns are."""
    return {
        WHOLE: f"Claims and their verdicts. {counted(counts(rows_of(numbers[WHOLE])))} {EXPLAINED}",
        CELLS: "Parts of claims, each with a verdict of its own; p is adjusted within the claim. "
        f"{EXPLAINED}",
    }
