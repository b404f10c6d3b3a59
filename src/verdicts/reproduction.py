"""Is this a reproduction? Printed numbers, and gaps between them, against one value for each run.

A printed number is compared with the prediction interval for it, made from our seeds, as in
``statistics.evidence``; the other definitions are those of ``replication``. Printed numbers and
runs meet in *cells*: rows with the same keys, as text.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from verdicts import replication
from verdicts.registry import UserError, check, unknown
from verdicts.rows.tables import read_table
from verdicts.statistics.estimates import FEWEST, ROUNDING
from verdicts.statistics.judgement import CANNOT_TELL, CONSISTENT, NOT_MET, NOT_RUN, UNDECIDED
from verdicts.statistics.multiverse import share_interval

NAN = math.nan

LEVEL, GAP = "level", "gap"

#: The level of intervals, and the probability below which a count is not chance.
INSIDE, RARE = 0.95, 0.05

#: The columns of printed numbers that are no keys of their cells.
OF_NUMBERS = ("value", "sd", "se", "seeds", "unit", "page", "note", "apart")

#: The answers.
REPRODUCED = "reproduced"
IN_GAPS = "in gaps but not in levels"
NOT_REPRODUCED = "not reproduced"
NOT_TOLD = "cannot be told with what is printed"


@dataclass(frozen=True)
class Ours:
    """What our runs say of a cell or a gap."""

    mean: float
    sd: float
    seeds: int
    #: Why there is no comparison; empty if there is one.
    why: str = ""


@dataclass(frozen=True)
class Count:
    """How many printed numbers lie inside their intervals."""

    inside: int
    number: int
    #: Of how many the interval excludes zero, or the printed number.
    told: int

    @property
    def by_chance(self) -> float:
        """The probability that so few or fewer lie inside, if each does with 95 %."""
        from scipy.special import bdtr

        return float(bdtr(self.inside, self.number, INSIDE)) if self.number else NAN

    @property
    def agrees(self) -> bool:
        """Whether no fewer lie inside than chance leaves out."""
        return self.number > 0 and self.by_chance > RARE

    @property
    def can_be_told(self) -> bool:
        """Whether at least half of the intervals exclude zero, or the printed number."""
        return self.number > 0 and 2 * self.told >= self.number

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper and Pearson's exact interval of 95 % for the share inside."""
        return share_interval(self.inside, self.number, 1 - INSIDE)


@dataclass(frozen=True)
class Reproduction:
    """Printed numbers beside ours: a row for each number or gap, and setting of our runs.

    Columns of ``rows``: ``kind`` (``LEVEL`` or ``GAP``), the keys, ``setting`` and ``main``
    (whether it is the first of the cell), ``printed``, ``printed_se`` (assumed where
    ``se_assumed``), ``ours``, ``sd``, ``seeds``, ``low`` and ``high`` (the prediction interval),
    ``inside``, ``told``, ``verdict``, ``z``, ``q_p``, of gaps also what each definition says, and
    ``unit``, ``page``, ``note``, ``apart``.
    """

    rows: pd.DataFrame
    keys: list[str]
    #: The column and the value from which gaps are counted; None without gaps.
    gaps: tuple[str, str] | None
    margin: float | None

    def of(self, kind: str, *, main: bool = True) -> pd.DataFrame:
        """The levels, or the gaps; with ``main``, at the first setting of each cell alone."""
        rows = self.rows[self.rows["kind"] == kind]
        return rows[rows["main"]] if main else rows

    def answer(self, where: Mapping[Any, str] | None = None) -> tuple[str, Count, Count]:
        """The answer, and the counts of levels and gaps behind it, of all rows or a part."""
        rows = self.rows[self.rows["main"]]
        for name, value in (where or {}).items():
            rows = rows[rows[name] == value]
        levels, gaps = (counted(rows[rows["kind"] == kind]) for kind in (LEVEL, GAP))
        return answer(levels, gaps), levels, gaps

    def parts(self, names: Sequence[str]) -> list[dict[Any, str]]:
        """The values of the keys ``names`` that occur together, in their order."""
        return self.rows[[*names]].drop_duplicates().to_dict("records")

    def same_order(self) -> tuple[int, int]:
        """In how many rows of the printed table all methods have the same order, and of how many.

        A row has the cells that differ in the column of gaps alone; its methods are two or more.
        """
        if self.gaps is None:
            return 0, 0
        levels = self.of(LEVEL)
        levels = levels[levels["verdict"] != NOT_RUN]
        rest = [name for name in self.keys if name != self.gaps[0]]
        same = []
        for _, row in levels.groupby(rest) if rest else [((), levels)]:
            if len(row) > 1:
                both = row["printed"].to_numpy(), row["ours"].to_numpy()
                signs = [np.sign(np.subtract.outer(x, x)) for x in both]
                same.append(bool((signs[0] == signs[1]).all()))
        return sum(same), len(same)

    def settings(self) -> pd.DataFrame:
        """How near each setting of our runs comes to the printed levels, the nearest first.

        Columns: ``setting``, ``numbers``, ``inside``, ``distance`` (the root mean square of ours −
        printed) and ``farthest``. The first two rows are the main settings and the nearest of each
        number. Empty if no cell has several settings.
        """
        levels = self.of(LEVEL, main=False)
        levels = levels[np.isfinite(levels["z"]) | np.isfinite(levels["ours"])]
        several = levels.groupby(self.keys, dropna=False)["setting"].transform("nunique") > 1
        levels = levels[several].assign(off=levels["ours"] - levels["printed"])
        if levels.empty:
            return pd.DataFrame()
        nearest = levels.loc[levels["off"].abs().groupby([levels[k] for k in self.keys]).idxmin()]
        named = {"as the page has them": levels[levels["main"]], "each at its nearest": nearest}
        alone = {name: group for name, group in levels.groupby("setting") if name}
        found = [_distance(name, rows) for name, rows in named.items()]
        others = sorted(
            (_distance(*item) for item in alone.items()), key=lambda row: row["distance"]
        )
        return pd.DataFrame([*found, *others])


def _distance(setting: str, rows: pd.DataFrame) -> dict[str, Any]:
    return {
        "setting": setting,
        "numbers": len(rows),
        "inside": int(rows["inside"].sum()),
        "distance": float(np.sqrt((rows["off"] ** 2).mean())),
        "farthest": float(rows["off"].abs().max()),
    }


def comparable(rows: pd.DataFrame, *, apart: bool = False) -> pd.DataFrame:
    """The rows that were compared, without those apart."""
    compared = rows["verdict"].isin([CONSISTENT, NOT_MET, CANNOT_TELL])
    return rows[compared & (apart | (rows["apart"] == ""))]


def counted(rows: pd.DataFrame) -> Count:
    """How many of the rows lie inside; those that were not compared, or are apart, do not count."""
    rows = comparable(rows)
    return Count(int(rows["inside"].sum()), len(rows), int(rows["told"].sum()))


def answer(levels: Count, gaps: Count) -> str:
    """The answer in words, by the rule that the page states."""
    if gaps.number and not gaps.agrees:
        return NOT_REPRODUCED
    if not gaps.number:
        return NOT_REPRODUCED if levels.number and not levels.agrees else _told(levels)
    if levels.number and not levels.agrees:
        return IN_GAPS if gaps.can_be_told else NOT_REPRODUCED
    return _told(gaps)


def _told(count: Count) -> str:
    return REPRODUCED if count.agrees and count.can_be_told else NOT_TOLD


# From two tables to rows.


def keys_of(printed: pd.DataFrame) -> list[str]:
    """The columns of printed numbers that name their cells."""
    return [str(name) for name in printed if name not in OF_NUMBERS]


def gaps_of(text: str | None) -> tuple[str, str] | None:
    """The key and its value in ``method=gossip``; a UserError for another text."""
    if text is None:
        return None
    name, equal, value = text.partition("=")
    check(name.strip() and equal, "gaps", text, "write COLUMN=VALUE, such as method=baseline")
    return name.strip(), text_of(value)


def read_measured(
    path: str | Path, keys: Sequence[str], value: str = "value", settings: Sequence[str] = ()
) -> pd.DataFrame:
    """Our runs: a table (CSV or Parquet) with the ``keys``, ``seed``, ``value`` and ``settings``.

    A run with true in ``diverged`` has no finite value. Columns of the result: the keys,
    ``setting``, ``seed`` and ``value``. Raises a UserError, in one line, for a column that is not
    there, a text where a number must be, and two values of one cell, setting and seed.
    """
    table = read_table(Path(path))
    for name in (*keys, "seed", value, *settings):
        if name not in table:
            raise unknown(f"{Path(path).name}: column", name, map(str, table))
    if table.empty:
        raise UserError(f"{Path(path).name}: it has no rows.")
    numbers = pd.to_numeric(table[value], errors="coerce")
    wrong = (numbers.isna() & table[value].notna()).to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        told = f"{value} is {table[value].iloc[row]!r} in row {row + 1}; it must be a number."
        raise UserError(f"{Path(path).name}: {told}")
    if "diverged" in table:
        numbers = numbers.where(~table["diverged"], math.inf)
    named = {name: table[name].map(text_of) for name in (*keys, *settings)}
    setting = [", ".join(f"{k}={named[k][row]}" for k in settings) for row in table.index]
    found = pd.DataFrame({k: named[k] for k in keys})
    found = found.assign(setting=setting, seed=table["seed"], value=numbers).dropna(subset="value")
    if twice := _twice(found, keys, ["setting", "seed"]):
        raise UserError(
            f"{Path(path).name}: two values for {twice}; keep one, or name the columns that tell "
            "them apart as settings."
        )
    return found


def text_of(value: object) -> str:
    """A key as text: a whole number has no point, and what is missing is empty."""
    if value is None or value != value:
        return ""
    try:
        return f"{float(str(value)):.12g}"
    except ValueError:
        return str(value).strip()


#: The values of the keys of a cell, and our values of a cell by setting and seed.
Key = tuple[str, ...]
Runs = Mapping[str, pd.Series]


@dataclass(frozen=True)
class _Cell:
    """A printed number, or a gap between two."""

    kind: str
    keys: Key
    value: float
    #: The standard error; NaN if no spread is printed.
    se: float
    #: How many seeds the paper states; 1 if it states none.
    seeds: float
    words: Mapping[str, str]
    #: Our values by setting and seed.
    ours: Mapping[str, Ours] = field(default_factory=dict)


def reproduction(
    printed: pd.DataFrame,
    measured: pd.DataFrame,
    gaps: tuple[str, str] | None = None,
    margin: float | None = None,
) -> Reproduction:
    """Compare printed numbers (``read_printed``) with ours (``read_measured``).

    ``gaps`` has a key and the value of it from which gaps are counted: ``("method", "gossip")``.
    ``margin`` is the largest difference that does not matter, in the unit of the numbers; without
    it, nothing is said of equivalence. Raises a UserError, in one line, for two printed numbers of
    one cell, an unknown key or value of ``gaps``, and if no cell is in both tables.
    """
    keys = keys_of(printed)
    check(keys, "printed", list(printed), "it needs columns that name the cells, such as method")
    printed = printed.assign(**{name: printed[name].map(text_of) for name in keys})
    if twice := _twice(printed, keys):
        raise UserError(f"printed: two numbers for {twice}; keep one.")
    check(margin is None or margin > 0, "margin", margin, "it must be above 0")
    cells = {_key(row, keys): row for row in printed.to_dict("records")}
    runs = _runs(measured, keys)
    if not runs.keys() & cells.keys():
        first = " and ".join(", ".join(next(iter(table), ())) for table in (cells, runs))
        raise UserError(f"measured: no cell is in both tables, which begin with {first}.")
    rows = []
    for cell, row in cells.items():
        ours = {setting: _estimate(values) for setting, values in runs.get(cell, {}).items()}
        rows += _rows(_cell(cell, row, ours), margin)
    for cell, of, minus in _pairs(cells, keys, gaps):
        ours = _differences(runs.get(of, {}), runs.get(minus, {}))
        rows += _rows(_gap(cell, cells[of], cells[minus], ours), margin)
    table = pd.DataFrame(rows)
    named = pd.DataFrame(table.pop("keys").to_list(), columns=pd.Index(keys))
    return Reproduction(pd.concat([named, table], axis=1), keys, gaps, margin)


def _key(row: Mapping[Any, Any], keys: Iterable[str]) -> Key:
    return tuple(str(row[name]) for name in keys)


def _twice(table: pd.DataFrame, keys: Sequence[str], more: Sequence[str] = ()) -> str:
    """The first cell that occurs twice, in words; empty if none does."""
    again = table[table.duplicated([*keys, *more])]
    if again.empty:
        return ""
    return ", ".join(
        f"{name}={again[name].iloc[0]}" for name in [*keys, *more] if name != "setting"
    )


def _runs(measured: pd.DataFrame, keys: Sequence[str]) -> dict[Key, Runs]:
    found: dict[Key, dict[str, pd.Series]] = {}
    for _, group in measured.groupby([*keys, "setting"], sort=False, dropna=False):
        first = group.iloc[0].to_dict()
        ours = found.setdefault(_key(first, keys), {})
        ours[str(first["setting"])] = group.set_index("seed")["value"]
    return dict(found)


def _differences(of: Runs, minus: Runs) -> dict[str, Ours]:
    """Ours of a gap: at the main settings of both cells, then at those that both have."""
    if not (of and minus):
        return {}
    pairs = dict.fromkeys(
        [(next(iter(of)), next(iter(minus))), *((s, s) for s in of if s in minus)]
    )
    return {
        one if one == two else f"{one} − {two}": _difference(of[one], minus[two])
        for one, two in pairs
    }


def _pairs(
    cells: Collection[Key], keys: Sequence[str], gaps: tuple[str, str] | None
) -> Iterator[tuple[Key, Key, Key]]:
    """The keys of each gap, and those of its two cells."""
    if gaps is None:
        return
    name, reference = gaps
    if name not in keys:
        raise unknown("gaps", name, keys)
    at = keys.index(name)
    if reference not in (values := {cell[at] for cell in cells}):
        raise unknown(f"gaps: {name}", reference, values)
    for cell in cells:
        other = (*cell[:at], reference, *cell[at + 1 :])
        if other != cell and other in cells:
            yield (*cell[:at], f"{cell[at]} − {reference}", *cell[at + 1 :]), cell, other


def _cell(keys: Key, row: Mapping[Any, Any], ours: Mapping[str, Ours]) -> _Cell:
    value, sd, se, seeds = (float(row.get(k, NAN)) for k in ("value", "sd", "se", "seeds"))
    seeds = seeds if seeds >= 1 else 1.0
    se = sd / math.sqrt(seeds) if math.isnan(se) else se
    words = {name: text_of(row.get(name)) for name in ("unit", "page", "note", "apart")}
    return _Cell(LEVEL, keys, value, se if se > 0 else NAN, seeds, words, ours)


def _gap(
    keys: Key,
    of: Mapping[Any, Any],
    minus: Mapping[Any, Any],
    ours: Mapping[str, Ours],
) -> _Cell:
    one, two = _cell((), of, {}), _cell((), minus, {})
    both_apart = one.words["apart"] and two.words["apart"]
    words = {**one.words, "apart": one.words["apart"] if both_apart else ""}
    value = round(one.value - two.value, 12)
    return _Cell(
        GAP, keys, value, math.hypot(one.se, two.se), min(one.seeds, two.seeds), words, ours
    )


def _estimate(values: pd.Series) -> Ours:
    finite = values[np.isfinite(values)]
    why = f"too few seeds: {len(values)}; it takes {FEWEST}" if len(values) < FEWEST else ""
    if len(finite) < len(values):
        why = f"{len(values) - len(finite)} of {len(values)} seeds diverged"
    sd = float(finite.std(ddof=1)) if len(finite) > 1 else NAN
    return Ours(float(finite.mean()), sd, len(values), why)


def _difference(of: pd.Series, minus: pd.Series) -> Ours:
    """By seed where three seeds or more have both sides, else of means."""
    both = (of - minus).dropna()
    if len(both) >= FEWEST:
        return _estimate(both)
    one, two = _estimate(of), _estimate(minus)
    seeds = min(one.seeds, two.seeds)
    return Ours(one.mean - two.mean, math.hypot(one.sd, two.sd), seeds, one.why or two.why)


def _rows(cell: _Cell, margin: float | None) -> list[dict[str, object]]:
    """The row of each setting; one row if it was not run."""
    ours = cell.ours or {"": Ours(NAN, NAN, 0, cell.words["note"] or "not run")}
    return [
        {
            "kind": cell.kind,
            "keys": cell.keys,
            "setting": setting,
            "main": number == 0,
            "printed": cell.value,
            **_compared(cell, mine, margin),
            **cell.words,
            "note": mine.why or cell.words["note"],
        }
        for number, (setting, mine) in enumerate(ours.items())
    ]


def _compared(cell: _Cell, ours: Ours, margin: float | None) -> dict[str, object]:
    """What the prediction interval and the other definitions say."""
    from scipy.special import ndtr, ndtri, stdtr, stdtrit

    found: dict[str, object] = {
        "ours": ours.mean,
        "sd": ours.sd,
        "seeds": ours.seeds,
        "low": NAN,
        "high": NAN,
    }
    found |= {
        "inside": False,
        "told": False,
        "z": NAN,
        "q_p": NAN,
        "se_assumed": math.isnan(cell.se),
    }
    found |= {"verdict": UNDECIDED if ours.seeds else NOT_RUN}
    if ours.why:
        return found
    error = ours.sd / math.sqrt(ours.seeds)
    if math.isnan(cell.se):  # as so many of our seeds
        both, freedom = math.hypot(ours.sd / math.sqrt(cell.seeds), error), ours.seeds - 1
        half = float(stdtrit(freedom, (1 + INSIDE) / 2)) * both
    else:
        both = math.hypot(cell.se, error)
        half = float(ndtri((1 + INSIDE) / 2)) * both
    off, low, high = ours.mean - cell.value, ours.mean - half, ours.mean + half
    inside = abs(off) <= half + ROUNDING * max(abs(ours.mean), abs(cell.value))
    zero = low <= 0 <= high
    verdict = NOT_MET if not inside else CANNOT_TELL if zero else CONSISTENT
    found |= {"low": low, "high": high, "inside": inside, "told": not (inside and zero)}
    found |= {"verdict": verdict}
    if not both:
        return found
    z = off / both
    tail = ndtr(-abs(z)) if not math.isnan(cell.se) else stdtr(ours.seeds - 1, -abs(z))
    found |= {"z": z, "q_p": 2 * float(tail)}
    # Widened, so that the normal interval of 95 % is Student's.
    wider = float(stdtrit(ours.seeds - 1, 0.975) / ndtri(0.975))
    se = ours.sd / math.sqrt(cell.seeds) * wider if math.isnan(cell.se) else cell.se
    study = cell.value, se, ours.mean, error * wider
    found |= {"printed_se": se}
    if not error:
        return found
    if margin is not None:
        found |= {"equivalence_p": replication.equivalence(*study, margin)}
    if cell.kind == GAP:
        found |= {
            "same_sign": cell.value * ours.mean > 0,
            "significant": replication.same_sign_and_significant(cell.value, *study[2:]),
            "telescopes_p": replication.small_telescopes(*study),
            "sceptical_p": replication.sceptical_p(*study),
            "golden_p": replication.sceptical_p(*study, type="golden"),
        }
    return found
