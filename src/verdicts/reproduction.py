"""Is this a reproduction? Printed numbers, and gaps between them, against one value for each run.

A printed number is compared with the prediction interval for it, made from our seeds, as in
``statistics.evidence``; the other definitions are those of ``replication``. Printed numbers and
runs meet in *cells*: rows with the same keys, as text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from verdicts import replication
from verdicts.printed_tables import COLUMN
from verdicts.registry import UserError, check, in_a_line, one_of
from verdicts.statistics.estimates import ALPHA, FEWEST, exceeds
from verdicts.statistics.judgement import (
    CANNOT_TELL,
    CONSISTENT,
    NOT_MET,
    NOT_RUN,
    UNDECIDED,
    Count,
)
from verdicts.table import read_table

LEVEL, GAP = "level", "gap"

#: The columns of printed numbers that are no keys of their cells.
OF_NUMBERS = ("value", "rounding", "sd", "se", "seeds", "unit", "page", "note", "apart")

#: The answers.
REPRODUCED = "reproduced"
IN_GAPS = "in gaps but not in levels"
NOT_REPRODUCED = "not reproduced"
NOT_TOLD = "cannot be told with what is printed"

#: The columns of the comparison, behind the keys.
OF_ROWS = (
    "kind", "setting", "main", "printed", "se", "ours", "sd", "seeds", "low", "high", "inside",
    "verdict", "z", "q_p", "equivalence_p", "same_sign", "significant", "telescopes_p",
    "sceptical_p", "golden_p", "unit", "page", "note", "apart",
)  # fmt: skip


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

    def of(self, kind: str) -> pd.DataFrame:
        """The levels or the gaps, each at the first setting of its cell."""
        return self.rows[self.rows["main"] & (self.rows["kind"] == kind)]

    def parts(self, by: Sequence[str]) -> list[tuple[dict[str, str], Reproduction]]:
        """The part for each value of the keys ``by``; one part, of all, without keys."""
        groups: Any = self.rows.groupby([*by], sort=False) if by else [((), self.rows)]
        return [
            (dict(zip(by, values, strict=True)), replace(self, rows=rows))
            for values, rows in groups
        ]

    def answer(self) -> tuple[str, Count, Count]:
        """The answer, and the counts of levels and gaps behind it."""
        levels, gaps = (counted(self.of(kind)) for kind in (LEVEL, GAP))
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

    def settings(self) -> pd.DataFrame:
        """How near the settings of our runs come to the levels that have several, nearest first.

        ``distance`` is the root mean square of ours − printed. Rows are settings of at least half
        of the numbers, and each number at its nearest. Empty if no level has several.
        """
        rows = self.rows[(self.rows["kind"] == LEVEL) & self.rows["ours"].notna()]
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


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that were compared, without those apart."""
    return rows[rows["verdict"].isin([CONSISTENT, NOT_MET, CANNOT_TELL]) & (rows["apart"] == "")]


def counted(rows: pd.DataFrame) -> Count:
    """How many of the rows lie inside; those that were not compared, or are apart, do not count."""
    rows = comparable(rows)
    return Count.of(rows["verdict"], rows["q_p"])


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
    if COLUMN in keys and COLUMN not in table:
        raise UserError(
            f"printed: it has no column 'value', so the names of its columns of numbers are in "
            f"{COLUMN!r}, which {file} lacks; call the one column of numbers 'value', or add "
            f"{COLUMN!r} to {file}."
        )
    for name in (*keys, "seed", value, *settings):
        one_of(f"{file}: column", name, list(map(str, table)))
    try:
        numbers = pd.to_numeric(table[value])
    except (ValueError, TypeError) as error:
        raise UserError(f"{file}: {value} must be numbers: {in_a_line(error)}.") from None
    if "diverged" in table:
        numbers = numbers.where(~table["diverged"], math.inf)
    setting = [in_words(row) for row in table[[*settings]].to_dict("records")]
    return table[[*keys, "seed"]].assign(setting=setting, value=numbers).dropna(subset="value")


def in_words(setting: Mapping[Any, object]) -> str:
    """A setting as text: ``lr=0.1, batch_size=32``."""
    return ", ".join(f"{name}={text_of(value)}" for name, value in setting.items())


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
    for name in {*OF_ROWS, "seed"} & {*keys}:
        check(False, "printed: column", name, "ours has this name; choose another")
    check(margin is None or margin > 0, "margin", margin, "it must be above 0")
    numbers = _numbers(_told_apart("printed", printed, keys), keys)
    runs = _told_apart("measured", measured, keys, "setting", "seed")
    if gaps:
        numbers, runs = _with_gaps(numbers, runs, keys, *gaps)
    runs["finite"] = runs["value"].where(np.isfinite(runs["value"]))
    ours = runs.groupby([*keys, "setting"], sort=False, as_index=False).agg(
        ours=("finite", "mean"), sd=("finite", "std"),
        seeds=("value", "size"), finite=("finite", "count"),
    )  # fmt: skip
    absent = {"setting": "", "seeds": 0, "finite": 0}
    table = numbers.merge(ours, on=keys, how="left").fillna(absent)
    table = table.astype({"seeds": int, "finite": int}).assign(main=~table.duplicated(keys))
    if not table["seeds"].any():
        told = ", ".join(numbers[keys].iloc[0])
        raise UserError(f"measured: it has no run of a printed number, such as that of {told}.")
    return Reproduction(_compared(table, margin)[[*keys, *OF_ROWS]], keys, gaps, margin)


def _told_apart(name: str, table: pd.DataFrame, keys: list[str], *more: str) -> pd.DataFrame:
    """The table with keys as text; a UserError if ``keys`` and ``more`` are the same twice."""
    table = table.assign(**{key: table[key].map(text_of) for key in keys})
    again = table[table.duplicated([*keys, *more])]
    if len(again):
        told = in_words(again[[*keys, *more]].iloc[0].to_dict())
        hint = ", or name the columns that tell them apart as settings" if more else ""
        raise UserError(f"{name}: two values for {told}; keep one{hint}.")
    return table


def _numbers(printed: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The printed numbers: ``se`` is NaN without a spread, ``count`` that of their seeds."""
    table = printed.reindex(columns=[*keys, *OF_NUMBERS])
    table = table.rename(columns={"seeds": "count"}).fillna({"rounding": 0.0})
    texts = table[["unit", "page", "note", "apart"]].map(text_of)
    count = table["count"].clip(lower=1).fillna(1)
    se = table["se"].where(table["se"] > 0, table.pop("sd") / np.sqrt(count))
    return table.assign(**texts, count=count, se=se.where(se > 0), kind=LEVEL)


def _with_gaps(
    numbers: pd.DataFrame, runs: pd.DataFrame, keys: list[str], name: str, reference: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables with the gaps from the cells whose key ``name`` is ``reference`` below.

    Ours are paired by setting and seed.
    """
    reference = text_of(reference)
    one_of("gaps", name, keys)
    one_of(f"gaps: {name}", reference, set(numbers[name]))

    def gaps(table: pd.DataFrame, *pair: str) -> pd.DataFrame:
        base = table[name] == reference
        by = [*(key for key in keys if key != name), *pair]
        both = table[~base].merge(table[base].drop(columns=name), on=by, suffixes=("", "_base"))
        value = both["value"] - both["value_base"]
        return both.assign(value=value.round(12), **{name: both[name] + f" − {reference}"})

    ours, both = gaps(runs, "setting", "seed").dropna(subset="value"), gaps(numbers, "kind")
    both["kind"] = GAP
    both["se"] = np.hypot(both["se"], both["se_base"])
    both["count"] = both[["count", "count_base"]].min(axis=1)
    both["rounding"] += both["rounding_base"]
    both["apart"] = both["apart"].where(both["apart_base"] != "", "")
    return pd.concat([numbers, both], join="inner"), pd.concat([runs, ours], join="inner")


def _compared(table: pd.DataFrame, margin: float | None) -> pd.DataFrame:
    """The table with what the prediction interval and the other definitions say of each row."""
    n, mean, printed = table["seeds"], table["ours"], table["value"]
    error, assumed = table["sd"] / np.sqrt(n), table["se"].isna()
    theirs = table["se"].fillna(table["sd"] / np.sqrt(table["count"]))  # as so many of our seeds
    both, off = np.hypot(theirs, error), mean - printed
    normal, student = ndtri(1 - ALPHA / 2), stdtrit(n - 1, 1 - ALPHA / 2)
    half = np.where(assumed, student, normal) * both + table["rounding"]
    judged = (n >= FEWEST) & (table["finite"] == n)
    inside = judged & ~exceeds(off.abs(), half)
    verdict = np.select(
        [n == 0, ~judged, ~inside, mean.abs() <= half],
        [NOT_RUN, UNDECIDED, NOT_MET, CANNOT_TELL], CONSISTENT,
    )  # fmt: skip
    counted = "finite in " + table["finite"].astype(str) + " of " + n.astype(str) + " seeds"
    spread = judged & (error > 1e-12 * mean.abs())  # less is rounding
    least = -(off.abs() - table["rounding"]).clip(lower=0) / both
    q_p = pd.Series(2 * np.where(assumed, stdtr(n - 1, least), ndtr(least)), table.index)
    table = table.assign(
        printed=printed, inside=inside, verdict=verdict,
        note=table["note"].where(judged | (n == 0), counted),
        low=(mean - half).where(judged), high=(mean + half).where(judged),
        z=(off / both).where(spread), q_p=q_p.where(spread, inside.astype(float)).where(judged),
    )  # fmt: skip
    wider = student / normal  # so that the normal interval of 95 % is Student's
    studies = pd.DataFrame({
        "original": printed, "original_se": theirs * np.where(assumed, wider, 1),
        "replication": mean, "replication_se": error * wider,
    })[spread]  # fmt: skip

    def said(by: Callable[..., Any], studies: pd.DataFrame, **more: Any) -> pd.Series:
        rows: dict[Any, Any] = studies.to_dict("index")
        return pd.Series({k: by(**study, **more) for k, study in rows.items()})

    near = np.nan if margin is None else said(replication.equivalence, studies, margin=margin)
    of_gaps = studies[(table["kind"] == GAP)[spread] & (studies["original"] != 0)]
    vote = replication.same_sign_and_significant
    return table.assign(
        equivalence_p=near,
        same_sign=of_gaps["original"] * of_gaps["replication"] > 0,
        significant=said(vote, of_gaps.drop(columns="original_se")),
        telescopes_p=said(replication.small_telescopes, of_gaps),
        sceptical_p=said(replication.sceptical_p, of_gaps),
        golden_p=said(replication.sceptical_p, of_gaps, type="golden"),
    )
