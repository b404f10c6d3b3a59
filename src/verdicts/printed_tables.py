"""Tables of printed numbers as people have them: CSV, Markdown or LaTeX, ``87.3 ± 0.4``.

A tidy table has a row for each number, in the column ``value``. Any other has its numbers in its
last columns: it becomes tidy, with their names in ``COLUMN``.
"""

from __future__ import annotations

import csv
import math
import re
from itertools import pairwise
from pathlib import Path

from verdicts.files import regular_file
from verdicts.lazy import pd
from verdicts.registry import UserError, check, shown
from verdicts.table import check_columns, read_csv

#: The most bytes of a file of printed numbers.
MOST_BYTES = 2**20

#: The key with the names of columns of numbers, in a table without ``value``.
COLUMN = "column"

#: What stands where nothing was printed.
NOTHING = ("", "-", "--", "---", "–", "—", "−", "n/a", "N/A", "NA", "nan")

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PRINTED = re.compile(rf"({_NUMBER})\s*%?\s*(?:(?:±|\+/-|\+-)\s*({_NUMBER})|\(({_NUMBER})\))?\s*%?")


def read_printed(path: str | Path) -> pd.DataFrame:
    """The tidy table in a file that ends in ``.csv``, ``.md`` or ``.tex``; all but numbers is text.

    ``value`` is a number, and so are ``rounding``, half of its last digit, and ``sd``, what follows
    a ± or stands in brackets. Raises a UserError, in one line, for another file, for one without
    numbers, and for a text where a number must be.
    """
    file = regular_file(Path(path), "printed", MOST_BYTES)
    readers = {".csv": _csv, ".md": _markdown, ".tex": _latex}
    told = f"name a file that ends in {', '.join(readers)}"
    check(file.suffix in readers, "printed", str(path), told)
    try:
        table = readers[file.suffix](file)
    except (OSError, ValueError, csv.Error) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"printed: {str(path)!r} can't be read: {reason}.") from None
    if table.empty:
        raise UserError(f"printed: {str(path)!r} has no rows.")
    if "value" not in table:
        table = _tidy(table, file.name)
    return _with_numbers(table, file.name)


def number_of(text: str) -> tuple[float, float] | None:
    """A printed number with its spread, which may be NaN; None for another text.

    >>> number_of("87.3 ± 0.4"), number_of("−1.5")
    ((87.3, 0.4), (-1.5, nan))
    """
    found = _PRINTED.fullmatch(text.strip().replace("−", "-"))
    if not found:
        return None
    return float(found[1]), float(found[2] or found[3] or "nan")


def rounding_of(text: str) -> float:
    """Half of the last digit of a printed number."""
    return 0.5 / 10 ** len(re.sub(r"[^0-9].*", "", text.partition(".")[2]))


def _csv(path: Path) -> pd.DataFrame:
    return read_csv(path, dtype=str, keep_default_na=False)


def _markdown(path: Path) -> pd.DataFrame:
    """The pipe table of a Markdown file."""
    lines = [line.strip() for line in path.read_text("utf-8-sig").splitlines()]
    rows = [re.split(r"(?<!\\)\|", line.strip("|")) for line in lines if line[:1] == "|"]
    cells = [[re.sub(r"[*`\\]", "", cell).strip() for cell in row] for row in rows]
    return _table([row for row in cells if not re.fullmatch("[:-]*", "".join(row))], path)


def _latex(path: Path) -> pd.DataFrame:
    """The first tabular of a LaTeX file, without its rules and what makes text bold."""
    text = re.sub(r"(?<!\\)%.*", "", path.read_text("utf-8-sig"))
    inside = re.search(r"\\begin\{(tabular[*xy]?)\}(.*?)\\end\{\1\}", text, re.DOTALL)
    if inside is None:
        raise ValueError("it has no tabular")
    body = re.sub(r"^(\[[^]]*\])?(\{(?:[^{}]|\{[^{}]*\})*\})+", "", inside[2].strip())
    lines = [re.split(r"(?<!\\)&", line) for line in re.split(r"\\\\(?:\[[^]]*\])?", body)]
    rows = [cells for line in lines if any(cells := [c for part in line for c in _cells(part)])]
    for above, row in pairwise(rows):  # a \multirow stands above
        row[0] = row[0] or above[0]
    return _table(rows, path)


def _cells(source: str) -> list[str]:
    """The texts of a LaTeX cell: one, or several equal ones if it spans columns."""
    rules = r"\\(?:(?:top|mid|bottom)rule|hline)\b|\\(?:cmidrule|cline)(?:\([^)]*\))?\{[^{}]*\}"
    source = re.sub(rules, "", source)
    several = re.match(r"\s*\\multicolumn\{(\d{1,2})\}", source)
    source = re.sub(r"\\multi(?:column|row)\{[^{}]*\}\{[^{}]*\}", "", source)
    source = re.sub(r"\\%|\$", "", source.replace(r"\pm", "±").replace("~", " "))
    for _ in range(9):  # \textbf{\emph{87.3}}, from the inside
        source = re.sub(r"\\[A-Za-z]+\*?\{([^{}]*)\}", r"\1", source)
    text = " ".join(re.sub(r"\\[A-Za-z]+|[{}\\]", " ", source).split())
    return [text] * (int(several[1]) if several else 1)


def _table(rows: list[list[str]], path: Path) -> pd.DataFrame:
    """A table whose first row is its header."""
    if not rows:
        raise ValueError("it has no table")
    header, *rest = rows
    for number, row in enumerate(rest, 1):
        if len(row) != len(header):
            raise ValueError(f"row {number} has {len(row)} cells, and the header has {len(header)}")
    check_columns(header, path.name)
    return pd.DataFrame(rest, columns=header)


def _tidy(table: pd.DataFrame, file: str) -> pd.DataFrame:
    """A row for each number of a table whose last columns have them."""
    names = list(map(str, table.columns))
    printed = [
        all(number_of(text) or text.strip() in NOTHING for text in table[name])
        and any(map(number_of, table[name]))
        for name in names
    ]
    labels = 1 + next((k for k, right in enumerate(printed[1:]) if right), len(names) - 1)
    if labels == len(names):
        raise UserError(
            f"{file}: it has neither a column 'value' nor one of numbers after a label."
        )
    long = table.melt(names[:labels], var_name=COLUMN, value_name="value", ignore_index=False)
    return long.sort_index(kind="stable")


def _with_numbers(table: pd.DataFrame, file: str) -> pd.DataFrame:
    """The table with numbers in its columns of numbers; rows without a value are left out."""
    table = table[~table["value"].str.strip().isin(NOTHING)].reset_index(drop=True)
    if table.empty:
        raise UserError(f"{file}: it has no numbers in the column 'value'.")
    names = [name for name in ("value", "sd", "se", "seeds") if name in table]
    read = {k: [_number(file, k, *cell) for cell in enumerate(table[k], 1)] for k in names}
    spreads = [error for _, error in read["value"]]
    if not {"sd", "se"} & set(table) and not all(map(math.isnan, spreads)):
        table["sd"] = spreads
    numbers = {name: [number for number, _ in pairs] for name, pairs in read.items()}
    return table.assign(rounding=table["value"].map(rounding_of), **numbers)


def _number(file: str, column: str, row: int, text: str) -> tuple[float, float]:
    if text.strip() in NOTHING:
        return math.nan, math.nan
    if (found := number_of(text)) is None:
        raise UserError(f"{file}: {column} is {shown(text)} in row {row}; it must be a number.")
    return found
