"""The result of making a table or figure, as a notebook shows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd


@dataclass(frozen=True)
class Output:
    """A saved figure, printed tables, or both. In a notebook, it displays all of them."""

    picture: Path | None = None
    """The PNG file of the figure."""
    tables: tuple[pd.DataFrame, ...] = ()

    def _ipython_display_(self) -> None:
        from IPython.display import Image, display

        if self.picture:
            display(Image(self.picture.read_bytes()))
        for table in self.tables:
            display(table)
