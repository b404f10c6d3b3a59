"""Reading of printed numbers, such as ``87.3 ± 0.4``, in CSV, Markdown, LaTeX and DataFrames.

A tidy table has a row for each number, in the column ``value``. A table without this column has its
numbers in its last columns: it becomes tidy, with their names in ``COLUMN``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import pairwise
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from verdicts.files import readable, regular_file
from verdicts.lazy import pd
from verdicts.registry import UserError, check, shown, strange
from verdicts.table import check_columns, read_csv

#: The most bytes of a file of printed numbers, its most columns, and characters of a number.
MOST_BYTES, MOST_COLUMNS, LONGEST = 2**20, 1000, 100

#: The columns of printed numbers that are no keys of their cells.
OF_NUMBERS = ("value", "rounding", "sd", "se", "seeds", "unit", "page", "note", "apart")

#: The key with the names of columns of numbers, in a table without ``value``.
COLUMN = "column"

#: The words for percent, and for shares of 1.
PERCENT = re.compile(r"%|\bper ?cents?\b|percentage|\bpct")
SHARES = re.compile("shares?( of 1)?|fractions?|proportions?")

#: What stands where nothing was printed.
NOTHING = ("", "-", "--", "---", "–", "—", "−", "n/a", "N/A", "NA", "nan")

#: Digits may be in groups, but 1,234 alone may be a decimal comma.
_DIGITS = (
    r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
    r"|[1-9][0-9]{0,2}(?:,[0-9]{3}\.[0-9]*|(?:,[0-9]{3}){2,}(?:\.[0-9]*)?))"
)
_NUMBER = rf"{_DIGITS}(?:(?:[eE]|\s?×\s?10\^)[+-]?[0-9]{{1,3}})?"
_PRINTED = re.compile(
    rf"([+-]?{_NUMBER})\s*(%?)\s*"
    rf"(?:(?:±|\+/-|\+-)\s*({_NUMBER})|\(\s*(?:±\s*)?({_NUMBER})\s*(%?)\s*\))?\s*(%?)"
)


class Printed(NamedTuple):
    """A number as it is printed."""

    value: float
    #: What follows a ±, or stands in brackets; NaN if nothing does.
    spread: float = math.nan
    #: Half of the last digit of the value: 0.5 for ``70 ± 0.04``, 50 for ``1.5e3``.
    rounding: float = 0.0
    #: Whether a % follows.
    percent: bool = False


def printed_number(text: str) -> Printed | None:
    """A printed number; None for another text, for a long one, and for what no float holds.

    A number in brackets without a point, after a value with one, is refused: the 4 of 70.1 (4) may
    be digits, or runs. So is a percentage after a value in another unit: 45 (87.3%) may be a count.

    >>> printed_number("87.3 ± 0.4 %"), printed_number("−1.5")
    (Printed(value=87.3, spread=0.4, rounding=0.05, percent=True), Printed(value=-1.5, spread=nan, \
rounding=0.05, percent=False))
    """
    if len(text) > LONGEST:
        return None
    found = _PRINTED.fullmatch(re.sub("^–", "-", text.strip()).replace("−", "-"))
    if not found or (found[5] and not found[2] + found[6]):
        return None
    if "." in found[1] and found[4] and "." not in found[4]:
        return None
    plain = (re.sub(r"\s?×\s?10\^", "e", part or "nan").replace(",", "") for part in found.groups())
    value, percent, spread, bracket, _, percent_behind = plain
    digits, _, power = value.lower().partition("e")
    rounding = float(f"0.5e{int(power or 0) - len(digits.partition('.')[2])}")
    beside = float(bracket if spread == "nan" else spread)
    read = Printed(float(value), beside, rounding, "%" in percent + percent_behind)
    return read if not any(map(math.isinf, read)) else None


def read_printed(
    printed: str | Path | pd.DataFrame | Mapping[str, Any], value: str = "value"
) -> pd.DataFrame:
    """The tidy table of printed numbers in a file (``.csv``, ``.md``, ``.tex``) or a table.

    ``value`` is the column that has them, unless one is called so. The columns ``value``,
    ``rounding`` (half of the last digit; 0 of a float), ``sd``, ``se`` and ``seeds`` are numbers;
    ``unit`` is ``%`` where a % follows; all else is as it was. Rows without a value are left out.
    Raises a UserError, in one line, for another file, for one that can't be read or has no numbers,
    and for a text where a number must be.
    """
    if isinstance(printed, str | Path):
        table, name = _read(Path(printed)), Path(printed).name
    else:
        name = "printed"
        with strange(f"{name}: it is no table"):
            table = pd.DataFrame(printed).reset_index(drop=True)
    names = list(map(str, table.columns))
    check_columns(names, name)
    _check_columns(len(names))
    if table.empty:
        raise UserError(f"{name}: it has no rows.")
    table.columns = pd.Index(["value" if n == value and "value" not in names else n for n in names])
    return _with_numbers(table if "value" in table else _tidy(table, name), name)


def _read(path: Path) -> pd.DataFrame:
    """The texts of the table in a file."""
    file = regular_file(path, "printed", MOST_BYTES)
    readers = {".csv": _csv, ".md": _markdown, ".tex": _latex}
    check(file.suffix in readers, "printed", str(path), f"end it in {', '.join(readers)}")
    with readable(file, "printed"):
        return readers[file.suffix](file)


def _csv(path: Path) -> pd.DataFrame:
    with path.open("rb") as file:
        _check_columns(1 + file.readline().count(b","))
    return read_csv(path, dtype=str)


def _markdown(path: Path) -> pd.DataFrame:
    """The pipe table of a Markdown file."""
    lines = [line.strip() for line in path.read_text("utf-8-sig").splitlines()]
    rows = [re.split(r"(?<!\\)\|", line.strip("|")) for line in lines if line[:1] == "|"]
    cells = [[re.sub(r"[*`\\]", "", cell).strip() for cell in row] for row in rows]
    return _table([row for row in cells if not re.fullmatch("[:-]*", "".join(row))])


def _latex(path: Path) -> pd.DataFrame:
    """The first tabular of a LaTeX file, without its rules and what makes text bold.

    No pattern looks far ahead of where it starts: the time is linear in the length of the file.
    """
    text = re.sub(r"(?<!\\)%.*", "", path.read_text("utf-8-sig"))
    begin = re.search(r"\\begin\{(tabular[*xy]?)\}", text)
    end = text.find(rf"\end{{{begin[1]}}}", begin.end()) if begin else -1
    if begin is None or end < 0:
        raise ValueError("it has no tabular, or no end of it")
    body = _after_arguments(text[begin.end() : end])
    lines = [re.split(r"(?<!\\)&", line) for line in re.split(r"\\\\(?:\[[^]]{0,20}\])?", body)]
    rows = [cells for line in lines if any(cells := [c for part in line for c in _cells(part)])]
    for above, row in pairwise(rows):  # a \multirow stands above
        row[0] = row[0] or above[0]
    return _table(rows)


def _after_arguments(text: str) -> str:
    r"""What follows the arguments of a tabular: ``[t]{lcc}``, ``{\textwidth}{lX}``."""
    depth = 0
    for place, sign in enumerate(text):
        if not depth and sign not in "{[":
            return text[place:]
        depth += (sign in "{[") - (sign in "}]")
    return ""


#: Rules and colours, which are left out, and what LaTeX has for signs.
_LOOKS = (
    r"\\(?:(?:top|mid|bottom)rule|hline)\b|\\(?:cmidrule|cline)(?:\([^)]{0,20}\))?\{[^{}]*\}"
    r"|\\(?:text|cell|row)color(?:\[[^]]{0,20}\])?\{[^{}]*\}"
)
_SIGNS = {r"\pm": "±", r"\times": "×", r"\percent": "%", "{,}": ",", "~": " "} | {
    space: "" for space in (r"\,", r"\;", r"\!")
}


def _cells(source: str) -> list[str]:
    """The texts of a LaTeX cell: one, or several equal ones if it spans columns."""
    if not re.search(r"[\\{}$~^_]", source):
        return [" ".join(source.split())]
    source = re.sub(_LOOKS, "", source)
    several = re.match(r"\s*\\multicolumn\{(\d{1,2})\}", source)
    source = re.sub(r"\\multi(?:column|row)\{[^{}]*\}\{[^{}]*\}", "", source)
    for sign, plain in _SIGNS.items():
        source = source.replace(sign, plain)
    source = re.sub(r"(?<!\\)\$", "", source)
    for _ in range(9):  # \textbf{\emph{87.3}}, from the inside
        source = re.sub(r"\\[A-Za-z]+\*?\{([^{}]*)\}", r"\1", source)
    source = re.sub(r"\\[A-Za-z]+", " ", source)
    source = re.sub(r"[_^]\{\s*(±[^{}]*)\}", r" \1", source)  # 70.1_{\pm 0.4}
    source = re.sub(r"\^\{([^{}]*)\}", r"^\1", source)  # 10^{-3}
    source = re.sub(r"\\([&%$#_{}])|[{}\\]", lambda sign: sign[1] or " ", source)
    return [" ".join(source.split())] * (int(several[1]) if several else 1)


def _table(rows: list[list[str]]) -> pd.DataFrame:
    """A table whose first row is its header."""
    if not rows:
        raise ValueError("it has no table")
    header, *rest = rows
    _check_columns(len(header))
    for number, row in enumerate(rest, 1):
        if len(row) != len(header):
            raise ValueError(f"row {number} has {len(row)} cells, and the header has {len(header)}")
    return pd.DataFrame(rest, columns=header)


def _check_columns(count: int) -> None:
    check(count <= MOST_COLUMNS, "printed: columns", count, f"it may have {MOST_COLUMNS:,}")


def _tidy(table: pd.DataFrame, file: str) -> pd.DataFrame:
    """A row for each number of a table whose last columns have them; a header may have their %,
    but not that of 95% CI.
    """
    names = [name for name in map(str, table.columns) if name not in OF_NUMBERS]

    def has_numbers(name: str) -> bool:
        read = [_parsed(value) for value in table[name]]
        return all(read) and not all(number and math.isnan(number.value) for number in read)

    labels = next((k for k, name in enumerate(names) if k and has_numbers(name)), len(names))
    if labels == len(names):
        raise UserError(f"{file}: it has no column 'value', and none of numbers after a label.")
    kept = [*names[:labels], *(name for name in OF_NUMBERS if name in table)]
    long = table.melt(kept, var_name=COLUMN, value_name="value", ignore_index=False)
    if "unit" not in long:
        long["unit"] = ["%" * bool(re.search("(?<![0-9])%", name)) for name in long[COLUMN]]
    return long.sort_index(kind="stable")


def _with_numbers(table: pd.DataFrame, file: str) -> pd.DataFrame:
    """The table with numbers in its columns of numbers; rows without a value are left out."""
    read = {
        name: pd.DataFrame([_number(file, name, *cell) for cell in enumerate(table[name], 1)])
        for name in ("value", "rounding", "sd", "se", "seeds")
        if name in table
    }
    columns: dict[str, Any] = {name: numbers["value"].to_numpy() for name, numbers in read.items()}
    value = read["value"].set_index(table.index)
    unit = table.get("unit", pd.Series("", table.index)).fillna("")
    unit = unit.where(unit != "", value["percent"].map({True: "%", False: ""}))
    other = (unit.map(plain_unit) != "%").to_numpy()
    for name, numbers in read.items():
        wrong = (numbers["percent"] & other) | (numbers["spread"].notna() & (name != "value"))
        for row in np.flatnonzero(wrong):
            told = f"{shown(table[name].iloc[row])} in row {row + 1}, and its unit"
            raise UserError(f"{file}: {name} is {told} {shown(unit.iloc[row])}; keep to the unit.")
    table = table.assign(unit=unit, **{"rounding": value["rounding"], **columns})
    if value["spread"].notna().any():
        table["sd"] = table.get("sd", value["spread"]).fillna(value["spread"])
    table = table[table["value"].notna()].reset_index(drop=True)
    if table.empty:
        raise UserError(f"{file}: it has no numbers in the column 'value'.")
    return table


def plain_unit(unit: object) -> str:
    """A unit as ``%`` or ``share``, if it is one of them in other words."""
    word = str(unit).strip()
    is_share = SHARES.fullmatch(word.lower())
    return "%" if PERCENT.search(word.lower()) else "share" if is_share else word


def _parsed(value: object) -> Printed | None:
    """A printed number, without a value where nothing is printed; None if it is neither."""
    if isinstance(value, Real) and not isinstance(value, bool):
        return None if math.isinf(value) else Printed(float(value))
    text = "" if value is None or value is pd.NA else str(value).strip()
    return Printed(math.nan) if text in NOTHING else printed_number(text)


def _number(file: str, column: str, row: int, value: object) -> Printed:
    found, least = _parsed(value), {"value": -math.inf, "seeds": 1.0}.get(column, 0.0)
    if found is None or found.value < least:
        reason = f"at least {least:g}" if found else "a number"
        raise UserError(f"{file}: {column} is {shown(value)} in row {row}; it must be {reason}.")
    return found
