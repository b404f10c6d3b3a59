"""The judge of claims: a claims file and tidy tables in, verdicts out.

    import verdicts

    rows = verdicts.check("claims.yaml", "tables/")
    print(verdicts.as_table(rows)[["claim", "verdict", "estimate", "low", "high"]])

``quantity`` registers a new quantity. A mistake raises a ``UserError``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from verdicts import registration
from verdicts.claims import universes
from verdicts.claims.claim import ClaimsFile
from verdicts.claims.claims_file import read_claims
from verdicts.claims.conditions import check_names
from verdicts.lazy import pd
from verdicts.ledger import judged
from verdicts.quantity_registry import Quantity, quantity
from verdicts.registry import UserError, load_entries, one_of
from verdicts.row import Row, as_table
from verdicts.rows.selection import Folder
from verdicts.rows.tables import read_tables

__all__ = [
    "Quantity",
    "UserError",
    "as_table",
    "check",
    "quantity",
    "read_claims",
    "specification_curve",
]

load_entries("verdicts.quantities")
load_entries("verdicts.comparison")


def check(claims: str | Path, tables: str | Path) -> list[Row]:
    """Judge the claims in a file on the tables in a folder (NAME.parquet or NAME.csv).

    Returns a row for each claim, in the file's order, each followed by those of its cells. A claim
    whose table or rows are not there is "not run". If the claims are registered, and tables have
    the column ``started``, the rows say whether a claim was registered before its first run.

    Raises a UserError, in one line, for the first mistake in the claims file, its registration or
    its tables: a column that a table lacks, or a text where a claim reads a number. What an
    optional claim lacks is no mistake.
    """
    file = read_claims(claims)
    registered = registration.read_registration(registration.registration_path(claims))
    read = _checked_tables(file, tables)
    first = registration.first_runs(file, read)
    return registration.with_standing(judged(file, read), file, registered, first)


def _checked_tables(claims: ClaimsFile, folder: str | Path) -> Folder:
    """The tables that claims read, with the columns that they name."""
    tables = read_tables(folder, claims.tables)
    check_names(claims, tables)
    return tables


def specification_curve(claims: str | Path, tables: str | Path, claim: str) -> pd.DataFrame:
    """The universes of a claim, sorted by effect: its settings, ``effect`` and ``side``.

    ``side`` is 1 where the claim holds beyond the margin, −1 where its opposite does, else 0.
    Raises a UserError like ``check``, for an unknown id, and for a claim without universes.
    """
    file = read_claims(claims)
    over = {name: listed for name, listed in file.claims.items() if listed.universes is not None}
    one_of("claim", claim, over)
    read = _checked_tables(replace(file, claims={claim: over[claim]}), tables)
    return universes.specification_curve(over[claim], read)
