"""A user's modules and files that register quantities and values, and checks of claims."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from pathlib import Path

from verdicts.registry import UserError, in_a_line, load_entries

CHECKS = "verdicts.checks"
"""The entry points of installed packages: ``check(path)`` raises a UserError for a mistake in a
claims file that is about the tables of the package."""


def check_claims(path: Path) -> None:
    """Have installed packages check the claims file at ``path``, before it is registered."""
    for point in importlib.metadata.entry_points(group=CHECKS):
        point.load()(path)


def load(name: str) -> None:
    """Import a module, or the Python file at a path that ends in ``.py``. It runs with your rights.

    Raises a UserError, in one line, if it can't be imported.
    """
    try:
        if not name.endswith(".py"):
            load_entries(name)
            return
        if Path(name).exists() and not Path(name).is_file():  # opening a pipe may block for ever
            raise UserError(f"import: {name!r} can't be imported: it is not a regular file.")
        spec = importlib.util.spec_from_file_location(Path(name).stem, name)
        assert spec is not None  # nor is its loader, for a path that ends in .py
        assert spec.loader is not None
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    except UserError:
        raise
    except Exception as error:  # whatever the file does
        kind = type(error).__name__
        raise UserError(
            f"import: {name!r} can't be imported: {kind}: {in_a_line(error)}."
        ) from None
