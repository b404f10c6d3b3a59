"""Is this a reproduction? Comparison of a paper's printed numbers with our runs; and its page.

A *cell* is all rows with the same keys, as text: a printed number, and our runs of it. The number
is compared with a prediction interval from our seeds, as a claim on it is
(``statistics.evidence``). So are gaps: differences of two printed numbers. Other definitions of a
replication are those of ``replication``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from verdicts import replication
from verdicts.lazy import Figure, pd, special
from verdicts.printed_tables import COLUMN, LONGEST, OF_NUMBERS, plain_unit, read_printed
from verdicts.registry import UserError, check, one_of
from verdicts.report import Result, Section, as_strings, markdown_page, page_texts, write_page
from verdicts.run_values import per_run
from verdicts.scores import Side, are_left_out, unlike
from verdicts.statistics import ABSENT, ALPHA, FEWEST, alike, exceeds, judgement, samples
from verdicts.statistics.judgement import CANNOT_TELL, CONSISTENT, NOT_MET, NOT_RUN, Count
from verdicts.statistics.multiverse import share_interval
from verdicts.table import of_frame, read_table

LEVEL, GAP = "level", "gap"

#: The answers.
REPRODUCED, IN_PART, NOT_REPRODUCED = "reproduced", "reproduced in part", "not reproduced"
IN_GAPS = "in gaps but not in levels"
NOT_TOLD = "cannot be told with what is printed"

#: The columns of the comparison, behind the keys.
OF_ROWS = (
    "kind", "setting", "main", "printed", "se", "ours", "sd", "seeds", "low", "high", "inside",
    "verdict", "z", "q_p", "equivalence_p", "same_sign", "significant", "telescopes_p",
    "sceptical_p", "golden_p", "unit", "page", "note", "apart",
)  # fmt: skip

#: What no key may be called: columns of ours.
RESERVED = {*OF_ROWS, "seed", "run", "step", "diverged", "finite", "count", "spread", "scale"}
RESERVED |= {"why", "lost"}

#: The units of numbers on a scale, with its end; gaps may be negative.
SCALES = {"%": 100.0, "share": 1.0}

#: From this ratio of the typical values of both sides on, one may be in percent, the other shares.
OTHER_UNIT = 3.0

#: A number in a key.
NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"

#: The most cells that a sentence names, and the most parts that a picture has.
MOST_NAMED, MOST_DRAWN = 3, 100


def answer(levels: Count, gaps: Count, *, whole: bool = True) -> str:
    """The answer in words, by the rule that the page states; ``whole``: all numbers have one."""
    levels_agree, gaps_agree = (count.agrees or not count.number for count in (levels, gaps))
    if not (levels_agree and gaps_agree):
        return IN_GAPS if gaps_agree and gaps.can_be_told else NOT_REPRODUCED
    if not (gaps if gaps.number else levels).can_be_told:
        return NOT_TOLD
    return REPRODUCED if whole else IN_PART


@dataclass(frozen=True, repr=False)
class Reproduction(Result):
    """Printed numbers beside ours: a row for each number or gap, and setting of our runs.

    Columns of ``frame``: the keys, ``kind`` (``LEVEL`` or ``GAP``), ``setting``, ``main`` (whether
    it is the first of the cell), ``printed``, ``se`` (of the printed number; NaN if no spread is
    printed), ``ours``, ``sd``, ``seeds``, ``low`` and ``high`` (the prediction interval),
    ``inside``, ``verdict``, ``z``, ``q_p``, what the other definitions say, and ``unit``,
    ``page``, ``note``, ``apart``.
    """

    frame: pd.DataFrame
    keys: list[str]
    #: The key, and its value, from which gaps are counted; None without gaps.
    gaps: tuple[str, str] | None = None
    margin: float | None = None
    #: A level whose interval is wider can't be told; None: a fifth of its scale.
    width: float | None = None
    #: Keys, by whose values there is an answer for each part.
    by: Sequence[str] = ()
    #: What was assumed, and what was left out, in sentences.
    told: Sequence[str] = ()

    def __str__(self) -> str:
        """The answer, the counts behind it, and what was left out."""
        lie = f"{self.inside} lie inside their prediction intervals"
        told = [lie if self.inside else "nothing compared", *self.told]
        return f"{self.answer()[0].capitalize()}: {'. '.join(told)}."

    @property
    def inside(self) -> str:
        """``21 of 43 printed numbers and 12 of 19 gaps``: those inside their intervals."""
        kinds = zip(("printed numbers", "gaps"), self.answer()[1:], strict=True)
        return " and ".join(f"{n.inside} of {n.number} {kind}" for kind, n in kinds if n.number)

    def shown(self) -> pd.DataFrame:
        """See ``Result``; the first setting of each cell."""
        return as_strings(_listed(self.frame[self.frame["main"]], self.keys))

    def of(self, kind: str) -> pd.DataFrame:
        """The levels or the gaps, each at the first setting of its cell."""
        return self.frame[self.frame["main"] & (self.frame["kind"] == kind)]

    def parts(self) -> list[tuple[dict[str, str], Reproduction]]:
        """The part for each value of the keys ``by``; one part, of all, without keys."""
        groups: Any = self.frame.groupby([*self.by], sort=False) if self.by else [((), self.frame)]
        return [(dict(zip(self.by, k, strict=True)), replace(self, frame=f)) for k, f in groups]

    def answer(self) -> tuple[str, Count, Count]:
        """The answer, and the counts of levels and gaps behind it."""
        compared = (comparable(self.of(kind)) for kind in (LEVEL, GAP))
        levels, gaps = (Count.of(rows["verdict"], rows["q_p"]) for rows in compared)
        asked = sum(self.frame["main"] & (self.frame["apart"] == ""))
        return answer(levels, gaps, whole=asked == levels.number + gaps.number), levels, gaps

    def same_order(self) -> tuple[int, int]:
        """In how many rows of the printed table ours have the same order, and of how many rows.

        A row has the cells that differ in the key of gaps alone; it needs two of them.
        """
        row = ["kind", *(name for name in self.keys if self.gaps and name != self.gaps[0])]
        levels = comparable(self.of(LEVEL))
        levels = levels[levels.groupby(row)["ours"].transform("size") > 1]
        ranks = levels.groupby(row)[["printed", "ours"]].rank()
        same = levels.assign(same=ranks["printed"] == ranks["ours"]).groupby(row)["same"].all()
        return int(same.sum()), len(same)

    def settings(self) -> pd.DataFrame:
        """How near the settings of our runs come to the levels that have several, nearest first.

        ``distance`` is the root mean square of ours − printed. Rows are settings of at least half
        of the numbers, and each number at its nearest. Empty if no level has several.
        """
        rows = self.frame.assign(off=(self.frame["ours"] - self.frame["printed"]).abs())
        rows = rows[(rows["kind"] == LEVEL) & rows["off"].notna()]
        rows = rows[rows.groupby(self.keys)["setting"].transform("nunique") > 1]
        nearest = rows.loc[rows.groupby(self.keys)["off"].idxmin()]
        named = rows.assign(setting=rows["setting"].replace("", "the chosen one"))
        groups = pd.concat([nearest.assign(setting="each at its nearest"), named])
        table = groups.groupby("setting", sort=False, as_index=False).agg(
            numbers=("off", "size"), inside=("inside", "sum"),
            distance=("off", lambda off: math.sqrt((off**2).mean())), farthest=("off", "max"),
        )  # fmt: skip
        return table[2 * table["numbers"] >= len(nearest)].sort_values("distance")

    def draw(self, figure: Figure) -> None:
        """How far printed numbers are from ours, a line for each part: inside is grey.

        What is farther than ``EDGE`` half-widths stands at the edge, with its count.
        """
        parts = [pair for pair in self.parts() if pair[1].frame["low"].notna().any()]
        if not 0 < len(parts) <= MOST_DRAWN:
            parts = [({}, self)]
        names = [" · ".join(filter(None, values.values())) for values, _ in parts]
        figure.set_size_inches(7, 1.6 + 0.3 * len(parts))
        for axes, kind in zip(figure.subplots(1, 2, sharey=True), (LEVEL, GAP), strict=True):
            axes.axvspan(-1, 1, color="0.9", zorder=0)
            rows = pd.concat([part.of(kind).assign(place=k) for k, (_, part) in enumerate(parts)])
            off = rows["ours"] - rows["printed"]
            half = np.where(off < 0, rows["high"] - rows["ours"], rows["ours"] - rows["low"])
            rows["far"] = (off / half).fillna(0).clip(-EDGE, EDGE)
            for verdict, (colour, marker, fill) in DRAWN.items():
                look = {"color": colour, "fillstyle": fill, "label": verdict}
                axes.plot("far", "place", marker, data=rows[rows["verdict"] == verdict], **look)
            for place, same in rows[rows["far"].abs() == EDGE].groupby(["place", "far"]):
                where = {"textcoords": "offset points", "ha": "center"}
                axes.annotate(f"{len(same)}", place[::-1], (0, 5), **where)
            ends = -EDGE - 0.5, EDGE + 0.5
            axes.set(title=f"printed {kind}s", xlim=ends, xticks=range(-4, 5, 2))
        axes.set_yticks(range(len(names)), names, parse_math=False)
        axes.set_ylim(len(names) - 0.5, -0.5)
        figure.supxlabel("ours − printed, in half-widths of our prediction interval", fontsize=10)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3)


#: How far the picture goes, in half-widths of intervals.
EDGE = 5

#: The colour, the marker and its filling of each verdict in the picture.
DRAWN = {
    CONSISTENT: ("#12652a", "o", "full"),
    NOT_MET: ("#a3201c", "x", "full"),
    CANNOT_TELL: ("#7a7a7a", "s", "none"),
}


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that were compared, without those apart."""
    return rows[rows["verdict"].isin(judgement.PRINTED) & (rows["apart"] == "")]


def keys_of(printed: pd.DataFrame) -> list[str]:
    """The columns of printed numbers that name their cells."""
    return [str(name) for name in printed if name not in OF_NUMBERS]


@np.errstate(divide="ignore", invalid="ignore")
def reproduce(
    measured: pd.DataFrame | Mapping[str, Any] | str | Path,
    printed: pd.DataFrame | Mapping[str, Any] | str | Path,
    value: str = "value", *, gaps: tuple[str, object] | None = None, margin: float | None = None,
    width: float | None = None, unit: str = "", settings: Sequence[str] = (),
    by: Sequence[str] = (),
) -> Reproduction:  # fmt: skip
    """Compare printed numbers with the runs ``measured``, number by number and gap by gap.

    Both are tables (a DataFrame, a mapping of columns) or files. ``printed`` has a column ``value``
    and, as it likes, ``sd`` or ``se`` with ``seeds`` (how many runs of the paper it is of),
    ``unit``, ``page``, ``note`` and ``apart`` (why a number does not count); its other columns are
    keys, which ``measured`` has, too, with ``seed`` and the column ``value``. ``settings`` are
    columns of ours that the paper leaves open; the first setting of a cell counts.

    ``gaps`` has a key and the value of it from which gaps are counted: ``("method", "gossip")``.
    ``margin`` is the largest difference that does not matter; without it, nothing is said of
    equivalence. A level whose interval is wider than ``width`` can't be told (default: a fifth of
    the scale, where the unit is % or share). ``unit`` is that of printed numbers that name none.

    Raises a UserError, in one line, for a column that is not there, for two numbers of one cell
    (and setting and seed), for an unknown key or value, if no cell is in both tables, and if one
    side may be in percent and the other not.
    """
    for name, number in {"margin": margin, "width": width}.items():
        check(number is None or 0 < number < math.inf, name, number, "it must be above 0")
    numbers = read_printed(printed, value)
    keys = keys_of(numbers)
    check(keys, "printed", list(numbers), "it needs columns that name the cells, such as method")
    for name in keys:
        check(name not in RESERVED, "printed: column", name, "ours has this name; choose another")
    for name in by:
        one_of("by", name, keys)
    numbers = _numbers(_told_apart("printed", numbers, keys), keys, unit)
    runs = _told_apart("measured", _runs(measured, keys, value, settings), keys, "setting", "seed")
    told, cell = [*_in_one_unit(numbers, runs, keys)], [*keys, "setting"]
    ends = runs.assign(cell=runs.groupby(cell).ngroup(), diverged=runs["value"] == math.inf)
    told += [text.capitalize() for text in unlike("step", [Side("", ends, ends)])]
    runs["why"] = f"no {value}"
    of_gaps = (gaps[0], text_of(gaps[1])) if gaps else None
    if of_gaps:
        numbers, runs = _with_gaps(numbers, runs, keys, *of_gaps)
    runs["finite"] = runs["value"].where(np.isfinite(runs["value"]))
    groups = runs.groupby(cell, sort=False)
    ours = groups["finite"].agg(ours="mean", sd="std", finite="count")
    ours = ours.assign(seeds=groups["value"].count()).join(left_out(runs, cell)).reset_index()
    absent = {"setting": "", "seeds": 0, "finite": 0, "lost": ""}
    table = numbers.merge(ours, on=keys, how="left").fillna(absent)
    table = table.astype({"seeds": int, "finite": int}).assign(main=~table.duplicated(keys))
    if not table["seeds"].any():
        first = ", ".join(numbers[keys].iloc[0])
        raise UserError(f"measured: it has no value of a printed number, such as that of {first}.")
    table = _compared(table, margin, width)
    told += _said(table[table["main"] & (table["apart"] == "")], keys)
    return Reproduction(table[[*keys, *OF_ROWS]], keys, of_gaps, margin, width, by, told)


def _runs(measured: Any, keys: Sequence[str], value: str, settings: Sequence[str]) -> pd.DataFrame:
    """Our runs: the keys, ``setting``, ``seed`` and ``value``, which is inf where a run diverged,
    and NaN where it is missing.
    """
    path = Path(measured) if isinstance(measured, str | Path) else None
    file = path.name if path else "measured"
    table = read_table(path) if path else of_frame(pd.DataFrame(measured), file)
    if COLUMN in keys and COLUMN not in table:
        told = f"the names of its columns of numbers are in {COLUMN!r}, which {file} lacks"
        raise UserError(f"printed: it has no column 'value', so {told}; call one 'value'.")
    for name in (*keys, "seed", value, *settings):
        one_of(f"{file}: column", name, list(map(str, table.columns)))
    if settings or "setting" not in table:
        table["setting"] = [in_words(row) for row in table[[*settings]].to_dict("records")]
    table["unit"] = table["unit"].map(text_of) if "unit" in table else ""
    kept = [*keys, "setting", "seed", "value", "unit", *(["step"] if "step" in table else [])]
    return per_run(table, value, math.inf)[kept]


def in_words(setting: Mapping[Any, object]) -> str:
    """A setting as text: ``lr=0.1, batch_size=32``."""
    return ", ".join(f"{name}={text_of(value)}" for name, value in setting.items())


def text_of(value: object) -> str:
    """A key as text: a whole number has no point, and what is missing is empty."""
    text = "" if value is None or value != value else str(value).strip()
    if not re.fullmatch(NUMBER, text) or len(text) > LONGEST:
        return text
    number = float(text)
    return f"{number:.12g}" if abs(number) < 1e12 else f"{number:.0f}"


def _told_apart(name: str, table: pd.DataFrame, keys: list[str], *more: str) -> pd.DataFrame:
    """The table with keys as text; a UserError if ``keys`` and ``more`` are the same twice."""
    table = table.assign(**{key: table[key].map(text_of) for key in keys})
    again = table[table.duplicated([*keys, *more])]
    if len(again):
        told = in_words(again[[*keys, *more]].iloc[0].to_dict())
        hint = ", or name the columns that tell them apart as settings" if more else ""
        raise UserError(f"{name}: two values for {told}; keep one{hint}.")
    return table


def _numbers(printed: pd.DataFrame, keys: list[str], unit: str) -> pd.DataFrame:
    """The printed numbers with all columns; ``count`` and ``spread`` are of the paper's runs."""
    table = printed.reindex(columns=[*keys, *OF_NUMBERS]).fillna({"rounding": 0.0})
    table = table.rename(columns={"seeds": "count", "sd": "spread"}).assign(kind=LEVEL)
    texts = ["unit", "page", "note", "apart"]
    table[texts] = table[texts].astype(object).map(text_of)
    unlike = unit and not table["unit"].isin(["", unit]).any()
    check(not unlike, "unit", unit, f"printed numbers have theirs, {table['unit'].iloc[0]}")
    return table.replace({"unit": {"": unit}})


def _in_one_unit(numbers: pd.DataFrame, runs: pd.DataFrame, keys: list[str]) -> Iterator[str]:
    """Convert our runs to the units of the printed numbers; yield sentences on what was done.

    Numbers of one metric (``COLUMN`` or ``metric``) are converted together, if their unit is
    the same, or unknown. What our runs call their unit must agree. The column ``scale`` is set to
    the end of the scale; NaN if there is none, or a number lies outside.
    """
    cells = pd.MultiIndex.from_frame(runs[keys])
    units, ours_in = numbers["unit"].map(plain_unit), runs["unit"].map(plain_unit)
    ends, other = units.map(SCALES), units.mask(units.isin(SCALES), "")
    apart = [other, *(numbers[key] for key in (COLUMN, "metric") if key in keys)]
    ends = ends.fillna(ends.groupby(apart).transform("max"))
    of_cells = ours_in[ours_in != ""].groupby([runs[key] for key in keys]).unique()
    for some in of_cells[of_cells.map(len) > 1]:
        raise UserError(f"unit: a number is measured in {' and in '.join(some)}; convert them.")
    for _, rows in numbers.groupby([ends, *apart], sort=False, dropna=False):
        finite = cells.isin(pd.MultiIndex.from_frame(rows[keys])) & np.isfinite(runs["value"])
        theirs, ours, end = rows["value"], runs.loc[finite, "value"], ends[rows.index[0]]
        unit, stated = max(units[rows.index]), {*ours_in[finite]} - {""}
        scaled = len(stated) == 1 and {unit, *stated} <= {*SCALES}
        if unit and not (stated <= {unit} or scaled):
            told = f"numbers are printed in {unit}, and measured in {', '.join(sorted(stated))}"
            raise UserError(f"unit: {told}; convert them.")
        last, most = theirs.abs().max(), ours.abs().max()
        times = theirs.abs().median() / ours.abs().median()
        unsaid = not unit or stated != {unit}
        up = unsaid and 0 < most <= 1 and last <= 100 and times > OTHER_UNIT
        down = unsaid and last <= 1 < most <= 100 and times < 1 / OTHER_UNIT
        unlike = (up and last > 1 and end != 100) or (down and math.isnan(end))
        if unlike and not other[rows.index].any():
            ends_of = (of for side in (theirs, ours) for of in (side.min(), side.max()))
            sides = "printed ones are {:g} to {:g}, measured ones {:g} to {:g}".format(*ends_of)
            why = "one may be in percent. Say the unit of the printed ones: %, share, other"
            raise UserError(f"unit: of the values, {sides}: {why} (column 'unit', or --unit).")
        if (up and end == 100) or (down and end == 1):
            factor, words = (100.0, "percent") if up else (0.01, "shares of 1")
            runs.loc[finite, "value"] = ours = ours * factor
            yield f"Printed numbers are in {words}: measured ones are taken × {factor:g}"
        if not (is_on := pd.concat([theirs, ours]).between(0, end).all()) and end > 0:
            yield f"Not all numbers in {unit or 'these units'} are 0 to {end:g}: no end is assumed"
        numbers.loc[rows.index, "scale"] = end if is_on else np.nan
    _check_each_unit(numbers[other == ""], runs[ours_in.isin(["", *SCALES])], keys)


def _check_each_unit(numbers: pd.DataFrame, runs: pd.DataFrame, keys: list[str]) -> None:
    """Raise a UserError for a run that is about a hundredth of what is printed, or a hundred times
    that: a share beside percent.
    """
    both = runs.merge(numbers, on=keys, suffixes=("", "_printed"))
    both = both[(both["unit"] == "") | (both["unit_printed"] == "")]
    low, high = np.sort(both[["value", "value_printed"]].to_numpy(float), axis=1).T
    is_far = (low > 0) & (low <= 1) & (high > 1.5) & (np.abs(high / low - 100) < 25)
    for row in both[is_far].head(1).to_dict("records"):
        told = f"{in_words({key: row[key] for key in keys})}: {row['value_printed']:g} is printed"
        why = "one may be in percent. Say the units in a column 'unit' of both"
        raise UserError(f"unit: {told}, and {row['value']:g} measured: {why}.")


def _with_gaps(
    numbers: pd.DataFrame, runs: pd.DataFrame, keys: list[str], name: str, reference: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables with the gaps from the cells whose key ``name`` is ``reference`` below.

    Ours are paired by setting and seed. A seed that one side of a gap lacks has no value.
    """
    one_of("gaps", name, keys)
    one_of(f"gaps: {name}", reference, set(numbers[name]))
    rest, cell = [key for key in keys if key != name], [*keys, "setting"]

    base = runs[name] == reference
    minus = runs[base].drop(columns=name).assign(value=-runs["value"])
    minus = runs.loc[~base, cell].drop_duplicates().merge(minus, on=[*rest, "setting"])
    both = pd.concat([runs[~base].merge(minus[cell].drop_duplicates()), minus])
    groups = both.groupby([*cell, "seed"], sort=False, as_index=False)
    ours = groups.agg(why=("why", "first"), sides=("value", "size"), valid=("value", "count"))
    ours["value"] = groups["value"].sum(min_count=2)["value"].round(12)
    ours["why"] = ours["why"].mask(ours["valid"] == 2, "both sides diverged")
    ours["why"] = ours["why"].mask(ours["sides"] < 2, "a run to compare with is missing")

    base = numbers[name] == reference
    of, minus = numbers[~base], numbers[base].drop(columns=name)
    gaps = of.merge(minus, on=[*rest, "kind"], suffixes=("", "_base")).assign(kind=GAP)
    gaps["value"] = (gaps["value"] - gaps["value_base"]).round(12)
    gaps["rounding"] += gaps["rounding_base"]
    gaps["apart"] = gaps["apart"].where(gaps["apart_base"] != "", "")
    gaps["unit"] = gaps["unit"].replace("%", "points")
    for table in (ours, gaps):
        table[name] += f" − {reference}"
    return pd.concat([numbers, gaps]), pd.concat([runs, ours], join="inner")


def left_out(runs: pd.DataFrame, by: list[str]) -> pd.Series:
    """Which seeds are left out, and ``why``, by group of runs with a missing value."""
    groups: Any = runs[runs["value"].isna()].groupby([*by, "why"])["seed"]
    lost = groups.agg(told=are_left_out, rows="size").reset_index("why").astype(str)
    rows = " in " + lost["rows"] + np.where(lost["rows"] == "1", " row", " rows")
    told = lost["told"] + ": " + lost["why"] + rows.where(lost["why"].str.startswith("no "), "")
    return told.groupby(by).agg("; ".join).rename("lost").astype(object)


def _compared(table: pd.DataFrame, margin: float | None, width: float | None) -> pd.DataFrame:
    """The table with what the prediction interval and the other definitions say of each row."""
    n, mean, scale, gap = table["seeds"], table["ours"], table["scale"], table["kind"] == GAP
    off, tiny = mean - table["value"], 1e-12 * mean.abs()  # rounding
    judged = (n >= FEWEST) & (table["finite"] == n) & np.isfinite(table["sd"])
    theirs, errors, freedoms = _errors(table)
    both = np.sqrt((errors**2).sum(axis=0))
    half = samples.student_quantile(ALPHA, errors, freedoms) * both + table["rounding"]
    inside = judged & ~exceeds(off.abs(), half)
    low, high = (mean - half).clip(lower=0 - gap * scale), (mean + half).clip(upper=scale)
    widest: Any = judgement.WIDE * scale if width is None else width
    untold = (mean.abs() <= half) | (~gap & exceeds(high - low, widest))
    if_not = {NOT_RUN: n == 0, judgement.UNDECIDED: ~judged, NOT_MET: ~inside, CANNOT_TELL: untold}
    few = "too few seeds: " + n.astype(str) + f"; a verdict takes {FEWEST}"
    lost = "infinite in " + (n - table["finite"]).astype(str) + " of " + n.astype(str) + " seeds"
    why = np.select([(n == 0) | judged, n < FEWEST], ["", few], "the number is " + lost)
    notes = zip(table["note"], why, table["lost"], strict=True)
    beyond = (off.abs() - table["rounding"]).clip(lower=0) / both
    spread = judged & (both > tiny)
    q_p = pd.Series(samples.student_p(beyond, errors, freedoms), table.index)
    # so that normal intervals of 95 % are Student's
    wider = errors * special.stdtrit(freedoms, 1 - ALPHA / 2) / special.ndtri(1 - ALPHA / 2)
    study = pd.DataFrame({
        "original": table["value"], "original_se": np.hypot(*wider[:2]),
        "replication": mean, "replication_se": wider[2],
    })[judged & (errors[2] > tiny)]  # fmt: skip
    gaps = study[gap[study.index] & (study["original"] != 0)]
    return table.assign(
        printed=table["value"], se=theirs, inside=inside, why=why,
        verdict=np.select([*if_not.values()], [*if_not], CONSISTENT),
        note=["; ".join(filter(None, note)) for note in notes],
        low=low.where(judged), high=high.where(judged), z=(np.sign(off) * beyond).where(spread),
        q_p=q_p.where(spread, inside.astype(float)).where(judged),
        equivalence_p=replication.equivalence(**study, margin=margin) if margin else np.nan,
        same_sign=gaps["original"] * gaps["replication"] > 0,
        significant=replication.same_sign_and_significant(**gaps.drop(columns="original_se")),
        telescopes_p=replication.small_telescopes(**gaps),
        sceptical_p=replication.sceptical_p(**gaps),
        golden_p=replication.sceptical_p(**gaps, type="golden"),
    )  # fmt: skip


def _errors(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The standard errors of printed numbers; then those behind intervals, and their freedoms.

    The first is NaN where no sd or se of enough runs is printed. Those behind the interval are [of
    the number, of the other number of a gap, of our mean], with their degrees of freedom. A number
    without sd and se counts as a mean of runs with our standard deviation. If the number of runs
    behind an sd is not printed, it is taken to be ours.
    """
    n, sd, gap = (table[name].to_numpy() for name in ("seeds", "sd", "kind"))
    pairs = ([name, f"{name}_base"] for name in ("se", "spread", "count"))
    se, spread, count = (table.reindex(columns=pair).to_numpy(float).T for pair in pairs)
    runs = np.where(np.isnan(count), n, count)
    printed = np.where(se > 0, se, spread / np.sqrt(runs))
    printed = np.where((printed > 0) & (runs >= FEWEST), printed, np.nan)
    printed[1, gap != GAP] = 0
    theirs = np.sqrt((printed**2).sum(axis=0))
    assumed = np.isnan(theirs)
    instead = sd / np.sqrt(np.nan_to_num(np.fmin(*count), nan=1.0)), 0 * sd
    errors = *np.where(assumed, instead, printed), sd / np.sqrt(n)
    return theirs, np.array(errors), np.array([*np.where(assumed, n, runs), n]) - 1


def _said(table: pd.DataFrame, keys: list[str]) -> Iterator[str]:
    """Cells without an answer, with fewer runs, or with an assumed number of printed runs."""
    cells = pd.Series([in_words(row) for row in table[keys].to_dict("records")], table.index)
    none, spread = table["verdict"] == NOT_RUN, table["se"].notna() & table["count"].isna()
    for what, which, why in (
        ("Without a run", none, ""),
        ("Undecided", table["verdict"] == judgement.UNDECIDED, ": " + table["why"]),
        ("With fewer runs", ~none & (table["lost"] != ""), ": " + table["lost"]),
        ("A spread of as many runs as ours is assumed", spread, ""),
    ):
        if count := which.sum():
            more = f"; and {count - MOST_NAMED} more" if count > MOST_NAMED else ""
            yield f"{what} ({count}): {'; '.join((cells + why)[which][:MOST_NAMED])}{more}"


TITLE = "Is this a reproduction?"

#: The rule, case by case: of levels, of gaps, and the answer.
CASES = (
    ("agree", "agree, and can be told", REPRODUCED),
    ("agree, some without an answer", "agree, and can be told", IN_PART),
    ("do not agree", "agree, and can be told", IN_GAPS),
    ("do not agree", "agree, and cannot be told", NOT_REPRODUCED),
    ("agree, or not", "do not agree", NOT_REPRODUCED),
    ("agree", "agree, and cannot be told", NOT_TOLD),
)


def sections(found: Reproduction) -> list[Section]:
    """What the page says."""
    texts = page_texts("reproduction")
    answer, *counts = found.answer()
    told = [answer.capitalize(), *map(_counted, ("printed number", "gap"), counts), *found.told]
    margin = f"The margin is {found.margin:g}." if found.margin else "No margin is given."
    width = f"{found.width:g}" if found.width else f"{100 * judgement.WIDE:g} % of the scale"
    levels, gaps = (_listed(found.of(kind), found.keys) for kind in (LEVEL, GAP))
    near = pd.concat([part.settings().assign(**values) for values, part in found.parts()])
    near = near[[*found.by, *near.columns.drop([*found.by])]]
    distance = "Distance: the root mean square of ours − printed, where there are several settings."
    asked = ["definition", "asks", "source", "levels", "gaps"]
    content: list[tuple[str, str, Any]] = [
        ("Answer", ". ".join(filter(None, told)) + ".", None),
        ("Part by part", "The same rule for each part.", [*_parts(found)]),
        ("By which definition?", margin, pd.DataFrame(_definitions(found), columns=asked)),
        ("Printed numbers", texts["read"].format(width=width), levels),
        ("Gaps", "From the same setting, and paired by seed.", gaps),
        ("Other settings", distance, near),
        ("The rule", texts["rule"], pd.DataFrame(CASES, columns=["levels", "gaps", "answer"])),
        ("What is assumed", texts["assumed"], None),
    ]
    shown = [section for section in content if section[2] is None or len(section[2])]
    return [(name, text, as_strings(pd.DataFrame(of))) for name, text, of in shown]


def as_markdown(found: Reproduction) -> str:
    """The page in Markdown, without its picture."""
    return markdown_page(TITLE, sections(found))


def write(
    folder: Path, found: Reproduction, title: str = TITLE, inputs: Iterable[Path] = ()
) -> None:
    """Write the page, its picture and all rows: ``reproduction.md``, ``.html``, ``.png``, ``.csv``.

    ``inputs`` are files that are not written over.
    """
    alt = "Printed against ours"
    write_page(folder, "reproduction", found, sections(found), title, alt, inputs)


def _counted(what: str, count: Count) -> str:
    """How many lie inside; empty if there are none."""
    number, inside, consistent, *_ = count
    shares = inside / max(number, 1), *share_interval(inside, number, ALPHA)
    share, low, high = (f"{100 * share:.0f}" for share in shares)
    few, far = ("< 0.001" if p < 0.001 else f"= {p:.2g}" for p in (count.so_few, count.farthest))
    told = (
        f"{inside} of {number} {what}s lie inside the prediction interval ({share} % "
        f"[{low}, {high}]; 95 % are expected; so few by chance: p {few}; the farthest: p {far}). "
        f"Of these, {inside - consistent} cannot be told"
    )
    return told if number else ""


def _parts(found: Reproduction) -> Iterator[dict[str, str]]:
    """The answer for each part in which something was compared."""
    for values, part in found.parts() if found.by else ():
        answer, levels, gaps = part.answer()
        told = f"{gaps.consistent} of {gaps.number}"
        line = {"gaps inside": f"{gaps.inside} of {gaps.number}", "gaps consistent": told}
        line = {"levels inside": f"{levels.inside} of {levels.number}", **line, "answer": answer}
        if levels.number or gaps.number:
            yield {**values, **line}


def _definitions(found: Reproduction) -> Iterator[tuple[str, ...]]:
    """How many levels and gaps meet each definition."""
    kinds = [comparable(found.of(kind)) for kind in (LEVEL, GAP)]
    for *named, column, least, most in page_texts("reproduction")["definitions"]:
        met = [rows[column].dropna().astype(float).between(least, most) for rows in kinds]
        yield *named, *(f"{of.sum()} of {len(of)}" if len(of) else "" for of in met)
    if found.gaps:
        same, rows = found.same_order()
        asks = f"is the order of {found.gaps[0]}s the paper's?"
        yield "order", asks, ABSENT, f"{same} of {rows} rows", ""


def _listed(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The rows as the page shows them."""
    spread = rows["se"].map("\u00a0±\u00a0{:.4g}".format).astype(str)
    printed = rows["printed"].map("{:g}".format).astype(str).str.replace("-", "−")
    same = [alike(*row) for row in rows[["ours", "low", "high"]].to_numpy(float)]
    table = rows.assign(
        printed=printed + spread.where(rows["se"].notna(), "") + "\u00a0" + rows["unit"],
        ours=[value for value, _, _ in same],
        interval=[f"{low}\u00a0to\u00a0{high}" if low != ABSENT else "" for _, low, high in same],
        z=rows["z"].round(2),
        note=["; ".join(filter(None, of)) for of in rows[["note", "apart", "setting"]].to_numpy()],
    )
    return table[[*keys, "page", "printed", "ours", "seeds", "interval", "verdict", "z", "note"]]
