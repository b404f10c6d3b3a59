"""Damaged products of the workflow: found when they are read, and made again by the same command.

Snakemake takes a file that exists for a complete one, so a damaged one is removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ngo.common.registry import UserError


@contextmanager
def removed_if_damaged(path: str | Path) -> Iterator[None]:
    """Remove the file ``path`` if the block, which reads it, raises a UserError; raise another."""
    try:
        yield
    except UserError as error:
        Path(path).unlink(missing_ok=True)
        raise UserError(
            f"{error} The file is removed; the same snakemake command makes it again."
        ) from None
