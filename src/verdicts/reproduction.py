"""Is this a reproduction? Printed numbers, and gaps between them, against one value for each run.

A printed number is compared with the prediction interval for it, made from our seeds, as in
``statistics.evidence``; the other definitions are those of ``replication``. Printed numbers and
runs meet in *cells*: rows with the same keys, as text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import bdtr, ndtr, ndtri, stdtr, stdtrit

from verdicts import replication
from verdicts.registry import UserError, check, shown, unknown
from verdicts.rows.tables import read_table
from verdicts.statistics.estimates import ALPHA, FEWEST, exceeds
from verdicts.statistics.judgement import CANNOT_TELL, CONSISTENT, NOT_MET, NOT_RUN, UNDECIDED

LEVEL, GAP = "level", "gap"

#: The columns of printed numbers that are no keys of their cells.
OF_NUMBERS = ("value", "rounding", "sd", "se", "seeds", "unit", "page", "note", "apart")

#: The answers.
REPRODUCED = "reproduced"
IN_GAPS = "in gaps but not in levels"
NOT_REPRODUCED = "not reproduced"
NOT_TOLD = "cannot be told with what is printed"

#: The values of the keys of a cell; and our values there, by setting and seed.
Key = tuple[str, ...]
Runs = Mapping[str, "pd.Series[float]"]


class Count(NamedTuple):
    """How many printed numbers, or gaps, lie inside their intervals."""

    number: int
    inside: int
    #: In how many of these intervals zero does not lie, too.
    consistent: int
    #: The probability that so few or fewer lie inside, if each does with 95 %.
    so_few: float
    #: The p value of the one that is farthest off, by the Q test and Bonferroni's correction.
    farthest: float

    @property
    def agrees(self) -> bool:
        """Whether chance may leave out so many, and one so far off; each is tested at 2.5 %."""
        return self.number > 0 and min(self.so_few, self.farthest) > ALPHA / 2

    @property
    def can_be_told(self) -> bool:
        """Whether at least half of them are consistent: zero does not lie inside, too."""
        return self.number > 0 and 2 * self.consistent >= self.number


def answer(levels: Count, gaps: Count) -> str:
    """The answer in words, by the rule that the page states."""
    if gaps.number and not gaps.agrees:
        return NOT_REPRODUCED
    if levels.number and not levels.agrees:
        return IN_GAPS if gaps.can_be_told else NOT_REPRODUCED
    return REPRODUCED if (gaps if gaps.number else levels).can_be_told else NOT_TOLD


@dataclass(frozen=True)
class Reproduction:
    """Printed numbers beside ours: a row for each number or gap, and setting of our runs.

    Columns of ``rows``: the keys, ``kind`` (``LEVEL`` or ``GAP``), ``setting``, ``main`` (whether
    it is the first of the cell), ``printed``, ``se`` (of the printed number; NaN if no spread is
    printed), ``ours``, ``sd``, ``seeds``, ``low`` and ``high`` (the prediction interval),
    ``inside``, ``verdict``, ``z``, ``q_p``, what the other definitions say, and ``unit``,
    ``page``, ``note``, ``apart``.
    """

    rows: pd.DataFrame
    keys: list[str]
    #: The key, and its value, from which gaps are counted; None without gaps.
    gaps: tuple[str, str] | None
    margin: float | None

    def of(self, kind: str, part: Mapping[Any, str] | None = None) -> pd.DataFrame:
        """The levels or the gaps of a part, or of all, each at the first setting of its cell."""
        return _part(self.rows[self.rows["main"] & (self.rows["kind"] == kind)], part)

    def parts(self, by: Sequence[str]) -> list[dict[Any, str]]:
        """The values of the keys ``by`` that occur together; one part, of all, without keys."""
        return self.rows[[*by]].drop_duplicates().to_dict("records") if by else [{}]

    def answer(self, part: Mapping[Any, str] | None = None) -> tuple[str, Count, Count]:
        """The answer for a part, or for all, and the counts of levels and gaps behind it."""
        levels, gaps = (counted(self.of(kind, part)) for kind in (LEVEL, GAP))
        return answer(levels, gaps), levels, gaps

    def same_order(self) -> tuple[int, int]:
        """In how many rows of the printed table ours have the same order, and of how many rows.

        A row has the cells that differ in the key of gaps alone; it needs two of them.
        """
        rest = [name for name in self.keys if self.gaps and name != self.gaps[0]]
        levels = comparable(self.of(LEVEL))
        groups = [row for _, row in levels.groupby(rest)] if rest else [levels]
        rows = [row for row in groups if len(row) > 1]
        same = [row["printed"].rank().equals(row["ours"].rank()) for row in rows]
        return sum(same), len(rows)

    def settings(self, part: Mapping[Any, str] | None = None) -> pd.DataFrame:
        """How near the settings of our runs come to the levels that have several, nearest first.

        ``distance`` is the root mean square of ours − printed. Rows are settings of at least half
        of the numbers, and each number at its nearest. Empty if no level has several.
        """
        rows = _part(self.rows[self.rows["kind"] == LEVEL], part)
        rows = rows[rows["ours"].notna()]
        rows = rows[rows.groupby(self.keys)["setting"].transform("nunique") > 1]
        rows = rows.assign(off=(rows["ours"] - rows["printed"]).abs())
        nearest = rows.loc[rows.groupby(self.keys)["off"].idxmin()]
        named = rows.assign(setting=rows["setting"].replace("", "the chosen one"))
        groups = pd.concat([nearest.assign(setting="each at its nearest"), named])
        table = groups.groupby("setting", sort=False, as_index=False).agg(
            numbers=("off", "size"),
            inside=("inside", "sum"),
            distance=("off", lambda off: math.sqrt((off**2).mean())),
            farthest=("off", "max"),
        )
        return table[2 * table["numbers"] >= len(nearest)].sort_values("distance")


def _part(rows: pd.DataFrame, part: Mapping[Any, str] | None) -> pd.DataFrame:
    for name, value in (part or {}).items():
        rows = rows[rows[name] == value]
    return rows


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that were compared, without those apart."""
    return rows[rows["verdict"].isin([CONSISTENT, NOT_MET, CANNOT_TELL]) & (rows["apart"] == "")]


def counted(rows: pd.DataFrame) -> Count:
    """How many of the rows lie inside; those that were not compared, or are apart, do not count."""
    rows = comparable(rows)
    number, inside = len(rows), int(rows["inside"].sum())
    consistent = int((rows["verdict"] == CONSISTENT).sum())
    farthest = min(1.0, number * rows["q_p"].min()) if number else math.nan
    return Count(number, inside, consistent, float(bdtr(inside, number, 1 - ALPHA)), farthest)


def keys_of(printed: pd.DataFrame) -> list[str]:
    """The columns of printed numbers that name their cells."""
    return [str(name) for name in printed if name not in OF_NUMBERS]


def read_measured(
    path: str | Path, keys: Sequence[str], value: str = "value", settings: Sequence[str] = ()
) -> pd.DataFrame:
    """Our runs: a table (CSV or Parquet) with the ``keys``, ``seed``, ``value`` and ``settings``.

    A run with true in ``diverged`` has no finite value. Columns of the result: the keys,
    ``setting``, ``seed`` and ``value``. Raises a UserError, in one line, for a column that is not
    there, and for a text where a number must be.
    """
    table, file = read_table(Path(path)), Path(path).name
    for name in (*keys, "seed", value, *settings):
        if name not in table:
            raise unknown(f"{file}: column", name, map(str, table))
    numbers = pd.to_numeric(table[value], errors="coerce")
    if (wrong := numbers.isna() & table[value].notna()).any():
        row = int(wrong.to_numpy().argmax())
        told = f"{value} is {shown(table[value].iloc[row])} in row {row + 1}"
        raise UserError(f"{file}: {told}; it must be a number.")
    if "diverged" in table:
        numbers = numbers.where(~table["diverged"], math.inf)
    given = table[[*settings]].to_dict("records")
    setting = [", ".join(f"{k}={text_of(v)}" for k, v in row.items()) for row in given]
    found = table[[*keys, "seed"]].assign(setting=setting, value=numbers)
    return found.dropna(subset="value")


def text_of(value: object) -> str:
    """A key as text: a whole number has no point, and what is missing is empty."""
    if value is None or value != value:
        return ""
    try:
        return f"{float(str(value)):.12g}"
    except ValueError:
        return str(value).strip()


def reproduction(
    printed: pd.DataFrame,
    measured: pd.DataFrame,
    gaps: tuple[str, str] | None = None,
    margin: float | None = None,
) -> Reproduction:
    """Compare printed numbers (``read_printed``) with ours (``read_measured``).

    ``gaps`` has a key and the value of it from which gaps are counted: ``("method", "gossip")``.
    ``margin`` is the largest difference that does not matter; without it, nothing is said of
    equivalence. Raises a UserError, in one line, for two numbers of one cell (and setting and
    seed), for an unknown key or value of ``gaps``, and if no cell is in both tables.
    """
    keys = keys_of(printed)
    check(keys, "printed", list(printed), "it needs columns that name the cells, such as method")
    check(margin is None or margin > 0, "margin", margin, "it must be above 0")
    numbers = {k: _number(rows) for k, rows in _cells("printed", printed, keys).items()}
    runs: dict[Key, dict[str, pd.Series[float]]] = {}
    for (*key, setting), rows in _cells("measured", measured, [*keys, "setting"], "seed").items():
        runs.setdefault(tuple(key), {})[setting] = rows.set_index("seed")["value"]
    if not runs.keys() & numbers.keys():
        first = " and ".join(str(next(iter(table), ())) for table in (numbers, runs))
        raise UserError(f"measured: no cell is in both tables, which begin with {first}.")
    cells: list[tuple[str, Key, dict[str, Any], Runs]]
    cells = [(LEVEL, key, number, runs.get(key, {})) for key, number in numbers.items()]
    if gaps:
        cells += _gaps(numbers, runs, keys, *gaps)
    table = [
        {**dict(zip(keys, key, strict=True)), "kind": kind, "setting": setting, "main": k == 0}
        | _compared(number, values, kind, margin)
        for kind, key, number, ours in cells
        for k, (setting, values) in enumerate(ours.items() or [("", pd.Series(dtype=float))])
    ]
    return Reproduction(pd.DataFrame(table), keys, gaps, margin)


def _cells(name: str, table: pd.DataFrame, keys: list[str], *more: str) -> dict[Key, pd.DataFrame]:
    """The rows of each cell; a UserError if ``keys`` and ``more`` do not tell two rows apart."""
    table = table.assign(**{key: table[key].map(text_of) for key in keys})
    again = table[table.duplicated([*keys, *more])]
    if len(again):
        told = ", ".join(f"{key}={again[key].iloc[0]}" for key in (*keys, *more))
        hint = ", or name the columns that tell them apart as settings" if more else ""
        raise UserError(f"{name}: two values for {told}; keep one{hint}.")
    return {tuple(map(str, key)): rows for key, rows in table.groupby(keys, sort=False)}


def _number(rows: pd.DataFrame) -> dict[str, Any]:
    """A printed number: ``value``, ``se`` (NaN without a spread), ``count`` of seeds, and so on."""
    row = rows.iloc[0].to_dict()
    count = max(1.0, row.get("seeds", math.nan))
    spreads = row.get("se", math.nan), row.get("sd", math.nan) / math.sqrt(count)
    se = next((spread for spread in spreads if spread > 0), math.nan)
    texts = {name: text_of(row.get(name)) for name in ("unit", "page", "note", "apart")}
    number = {"value": row["value"], "rounding": row.get("rounding", 0.0), "count": count}
    return {**number, "se": se, **texts}


def _gaps(
    numbers: Mapping[Key, dict[str, Any]],
    runs: Mapping[Key, Runs],
    keys: list[str],
    name: str,
    reference: str,
) -> Iterator[tuple[str, Key, dict[str, Any], Runs]]:
    """The gaps from the cells whose key ``name`` is ``reference``; ours are paired by seed.

    The first setting of a gap is that of both its cells.
    """
    if name not in keys:
        raise unknown("gaps", name, keys)
    at, reference = keys.index(name), text_of(reference)
    if reference not in (values := {key[at] for key in numbers}):
        raise unknown(f"gaps: {name}", reference, values)
    for key, one in numbers.items():
        base = (*key[:at], reference, *key[at + 1 :])
        if key == base or base not in numbers:
            continue
        two, of, minus = numbers[base], runs.get(key, {}), runs.get(base, {})
        mains = [(next(iter(of)), next(iter(minus)))] if of and minus else []
        pairs = dict.fromkeys([*mains, *((name, name) for name in of if name in minus)])
        ours = {a if a == b else f"{a} − {b}": (of[a] - minus[b]).dropna() for a, b in pairs}
        value, se = round(one["value"] - two["value"], 12), math.hypot(one["se"], two["se"])
        gap = {**one, "value": value, "se": se, "count": min(one["count"], two["count"])}
        gap["rounding"] = one["rounding"] + two["rounding"]
        gap["apart"] = one["apart"] and two["apart"] and one["apart"]
        yield GAP, (*key[:at], f"{key[at]} − {reference}", *key[at + 1 :]), gap, ours


def _compared(
    number: Mapping[str, Any], values: pd.Series[float], kind: str, margin: float | None
) -> dict[str, Any]:
    """What the prediction interval and the other definitions say of a printed number and ours."""
    n, printed, count, se = len(values), number["value"], number["count"], number["se"]
    finite = values[np.isfinite(values)]
    mean, sd = float(finite.mean()), float(finite.std(ddof=1))
    texts = {name: number[name] for name in ("unit", "page", "note", "apart")}
    row = {"printed": printed, "se": se, "ours": mean, "sd": sd, "seeds": n, **texts}
    row |= dict.fromkeys(("low", "high", "z", "q_p"), math.nan)
    row |= {"inside": False, "verdict": UNDECIDED if n else NOT_RUN}
    if n < FEWEST or len(finite) < n:
        lost = f"{n - len(finite)} of {n} seeds diverged" if len(finite) < n else "too few seeds"
        return row | {"note": (number["note"] or "not run") if not n else lost}
    error = sd / math.sqrt(n)
    if assumed := math.isnan(se):  # as so many of our seeds
        both, quantile = math.hypot(sd / math.sqrt(count), error), stdtrit(n - 1, 1 - ALPHA / 2)
    else:
        both, quantile = math.hypot(se, error), ndtri(1 - ALPHA / 2)
    off, half = mean - printed, float(quantile) * both + number["rounding"]
    inside = not exceeds(abs(off), half)
    zero = abs(mean) <= half
    row["verdict"] = NOT_MET if not inside else CANNOT_TELL if zero else CONSISTENT
    row |= {"low": mean - half, "high": mean + half, "inside": inside, "q_p": float(inside)}
    if not error:
        return row
    off_least = -max(0.0, abs(off) - number["rounding"]) / both
    q_p = 2 * float(stdtr(n - 1, off_least) if assumed else ndtr(off_least))
    row |= {"z": off / both, "q_p": q_p}
    # Widened, so that the normal interval of 95 % is Student's.
    wider = float(stdtrit(n - 1, 1 - ALPHA / 2) / ndtri(1 - ALPHA / 2))
    study = printed, sd / math.sqrt(count) * wider if assumed else se, mean, error * wider
    if margin is not None:
        row["equivalence_p"] = replication.equivalence(*study, margin)
    if kind == GAP and printed:
        row["same_sign"] = printed * mean > 0
        row["significant"] = replication.same_sign_and_significant(printed, *study[2:])
        row["telescopes_p"] = replication.small_telescopes(*study)
        row["sceptical_p"] = replication.sceptical_p(*study)
        row["golden_p"] = replication.sceptical_p(*study, type="golden")
    return row
