"""Tidy tables in files: Parquet or CSV, one row for each run, evaluation or case."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow
from pyarrow import parquet

from verdicts.registry import UserError
from verdicts.rows.selection import Folder

MOST_BYTES = 2**30
"""The most that a table may take in memory (Parquet) or on disk (CSV)."""

KINDS = (".parquet", ".csv")


def read_tables(folder: str | Path, names: Iterable[str]) -> Folder:
    """The tables in ``folder`` with these names; a name without a file is left out.

    A table is the file NAME.parquet or NAME.csv. Raises a UserError if there is no such folder,
    for two files of one name, and for a file that can't be read or is too large.
    """
    place = Path(folder)
    if not place.is_dir():
        raise UserError(f"tables: {str(folder)!r} is not a folder.")
    paths = sorted(path for path in place.iterdir() if path.suffix in KINDS)
    found = Folder({path.stem: path.name for path in paths})
    for name in names:
        paths = [path for kind in KINDS if (path := place / f"{name}{kind}").exists()]
        if len(paths) > 1:
            raise UserError(
                f"tables: {paths[0].name} and {paths[1].name} are both there; keep one."
            )
        if paths:
            found[name] = read_table(paths[0])
    return found


def read_table(path: Path) -> pd.DataFrame:
    """The table in a file; a UserError if it can't be read or is too large."""
    try:
        return _parquet(path) if path.suffix == ".parquet" else _csv(path)
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"tables: {str(path)!r} can't be read: {reason}") from None


def _parquet(path: Path) -> pd.DataFrame:
    file = parquet.ParquetFile(path)
    groups = (file.metadata.row_group(k) for k in range(file.num_row_groups))
    declared = 8 * file.metadata.num_rows * file.metadata.num_columns  # decoded
    _check_size(path, max(declared, sum(group.total_byte_size for group in groups)))
    return file.read().to_pandas()


def _csv(path: Path) -> pd.DataFrame:
    _check_size(path, path.stat().st_size)
    return pd.read_csv(path)


def _check_size(path: Path, size: int) -> None:
    if size > MOST_BYTES:
        raise UserError(f"tables: {str(path)!r} has {size:,} bytes; at most {MOST_BYTES:,}.")
