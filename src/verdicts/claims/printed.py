"""Printed numbers: claims compare with them where they stand, in CSV files."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verdicts.files import regular_file
from verdicts.registry import UserError, check, in_a_line, shown, unknown

MOST_BYTES = 2**24
"""The most that a file of printed numbers may have."""

_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?"


class PrintedNumbers:
    """The CSV files in the folder of a claims file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        #: The rows of each file that was read, by its path.
        self.files: dict[Path, list[dict[str, str]]] = {}

    def numbers(self, key: str, entry: object) -> object:
        """A claim, its cells included, with the numbers in place of where they are printed."""
        if not isinstance(entry, Mapping):
            return entry
        found = dict(entry)
        if isinstance(entry.get("paper"), Mapping):
            found["paper"] = self.number(f"{key}.paper", entry["paper"])
        if isinstance(entry.get("cells"), Mapping):
            found["cells"] = {
                name: self.numbers(f"{key}.cells.{name}", cell)
                for name, cell in entry["cells"].items()
            }
        return found

    def number(self, key: str, printed: Mapping[str, Any]) -> float:
        """The number in the ``column`` of the one row of ``file`` that has the values ``where``.

        A value that is None is an empty cell. Raises a one-line UserError.
        """
        file, column = printed.get("file"), printed.get("column")
        where: Any = printed.get("where")
        right = len(printed) == 3 and isinstance(where, Mapping)
        check(right, key, printed, "give a number, or file, column and where")
        rows = self._rows(f"{key}.file", file)
        for name in (column, *where):
            if not isinstance(name, str) or name not in rows[0]:
                raise unknown(key, name, rows[0])
        wanted = {name: "" if value is None else str(value) for name, value in where.items()}
        found = [row for row in rows if wanted.items() <= row.items()]
        if len(found) != 1:
            raise UserError(f"{key}: {len(found)} rows of {file!r} have {shown(wanted)}; one must.")
        text = found[0][str(column)]
        if not re.fullmatch(_NUMBER, text) or not math.isfinite(float(text)):
            raise UserError(f"{key}: {shown(text)} in {file!r} is not a number.")
        return float(text)

    def _rows(self, key: str, name: object) -> list[dict[str, str]]:
        right = isinstance(name, str) and re.fullmatch(r"\w[\w.-]*\.csv", name)
        check(right, key, name, "name a .csv file in the claims' folder")
        path = self.folder / str(name)
        if path not in self.files:
            regular_file(path, key, MOST_BYTES)
            try:
                with path.open(encoding="utf-8-sig", newline="") as file:
                    rows = list(csv.DictReader(file, restval=""))
            except (OSError, ValueError, csv.Error) as error:
                raise UserError(f"{key}: {name!r} can't be read: {in_a_line(error)}.") from None
            if not rows:
                raise UserError(f"{key}: {name!r} has no rows.")
            if any(None in row for row in rows):
                raise UserError(f"{key}: {name!r} has a row with more values than columns.")
            self.files[path] = rows
        return self.files[path]
