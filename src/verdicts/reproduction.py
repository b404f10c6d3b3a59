"""Is this a reproduction? Printed numbers, and gaps between them, against one value for each run.

A printed number is compared with the prediction interval for it, made from our seeds, as a claim on
it is (``statistics.evidence``); the other definitions are those of ``replication``. Printed numbers
and runs meet in *cells*: rows with the same keys, as text. The page *Is this a reproduction?* is
made here, too.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from verdicts import replication
from verdicts.files import write_together
from verdicts.lazy import pd, special
from verdicts.printed_tables import COLUMN, LONGEST, OF_NUMBERS, read_printed
from verdicts.registry import UserError, check, one_of, printable
from verdicts.report import Result, Section, as_strings, html_page, markdown_page
from verdicts.row import ABSENT, alike
from verdicts.run_values import per_run
from verdicts.scores import are_left_out
from verdicts.statistics import judgement, samples
from verdicts.statistics.estimates import ALPHA, FEWEST, exceeds
from verdicts.statistics.judgement import CANNOT_TELL, CONSISTENT, NOT_MET, NOT_RUN, Count
from verdicts.statistics.multiverse import share_interval
from verdicts.table import of_frame, read_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
OTHERS = "seed", "run", "step", "diverged", "finite", "count", "spread", "scale", "why", "lost"
RESERVED = {*OF_ROWS, *OTHERS}

#: The units of numbers on a scale, with its end; gaps may be negative.
SCALES = {"%": 100.0, "percent": 100.0, "share": 1.0, "share of 1": 1.0}

#: From this ratio of the typical values of both sides on, one may be in percent, the other shares.
OTHER_UNIT = 3.0

#: A number in a key.
NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"

#: The most cells that a sentence names, and the most parts that a picture has.
MOST_NAMED, MOST_DRAWN = 3, 100


def answer(levels: Count, gaps: Count, *, whole: bool = True) -> str:
    """The answer in words, by the rule that the page states; ``whole``: all numbers have one."""
    if gaps.number and not gaps.agrees:
        return NOT_REPRODUCED
    if levels.number and not levels.agrees:
        return IN_GAPS if gaps.can_be_told else NOT_REPRODUCED
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
        answer, levels, gaps = self.answer()
        inside = [f"{levels.inside} of {levels.number} printed numbers"] * bool(levels.number)
        inside += [f"{gaps.inside} of {gaps.number} gaps"] * bool(gaps.number)
        lie = " lie inside their prediction intervals"
        told = " and ".join(inside) + lie if inside else "nothing compared"
        return f"{answer.capitalize()}: {'. '.join([told, *self.told])}."

    def shown(self) -> pd.DataFrame:
        """See ``Result``; the first setting of each cell."""
        return as_strings(_listed(self.frame[self.frame["main"]], self.keys))

    def of(self, kind: str) -> pd.DataFrame:
        """The levels or the gaps, each at the first setting of its cell."""
        return self.frame[self.frame["main"] & (self.frame["kind"] == kind)]

    def parts(self) -> list[tuple[dict[str, str], Reproduction]]:
        """The part for each value of the keys ``by``; one part, of all, without keys."""
        if not self.by:
            return [({}, self)]
        groups: Any = self.frame.groupby([*self.by], sort=False)
        return [(dict(zip(self.by, k, strict=True)), replace(self, frame=f)) for k, f in groups]

    def answer(self) -> tuple[str, Count, Count]:
        """The answer, and the counts of levels and gaps behind it."""
        compared = (comparable(self.of(kind)) for kind in (LEVEL, GAP))
        levels, gaps = (Count.of(rows["verdict"], rows["q_p"]) for rows in compared)
        asked = self.frame[self.frame["main"] & (self.frame["apart"] == "")]
        whole = len(asked) == levels.number + gaps.number
        return answer(levels, gaps, whole=whole), levels, gaps

    def same_order(self) -> tuple[int, int]:
        """In how many rows of the printed table ours have the same order, and of how many rows.

        A row has the cells that differ in the key of gaps alone; it needs two of them.
        """
        rest = [name for name in self.keys if self.gaps and name != self.gaps[0]]
        levels = comparable(self.of(LEVEL))
        ranks = levels.groupby(rest or "kind")[["printed", "ours"]].rank()
        same = (ranks["printed"] == ranks["ours"]).groupby([levels[k] for k in rest or ["kind"]])
        of_several = same.all()[same.size() > 1]
        return int(of_several.sum()), len(of_several)

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

        What is farther than ``EDGE`` half-widths stands at the edge.
        """
        parts = [pair for pair in self.parts() if pair[1].frame["low"].notna().any()]
        if not 0 < len(parts) <= MOST_DRAWN:
            parts = [({}, self)]
        figure.set_size_inches(7, 1.6 + 0.3 * len(parts))
        for axes, kind in zip(figure.subplots(1, 2, sharey=True), (LEVEL, GAP), strict=True):
            axes.axvspan(-1, 1, color="0.9", zorder=0)
            rows = pd.concat([part.of(kind).assign(place=k) for k, (_, part) in enumerate(parts)])
            off = rows["printed"] - rows["ours"]
            half = np.where(off > 0, rows["high"] - rows["ours"], rows["ours"] - rows["low"])
            rows["far"] = (off / half).fillna(0).clip(-EDGE, EDGE)
            for verdict, (colour, marker) in DRAWN.items():
                drawn = rows[rows["verdict"] == verdict]
                look = {"color": colour, "marker": marker, "alpha": 0.7, "label": verdict}
                axes.scatter(drawn["far"], drawn["place"], **look)
            axes.set(title=f"printed {kind}s", xlim=(-EDGE - 0.5, EDGE + 0.5))
            axes.set_xticks([-4, -2, 0, 2, 4])
        names = [" · ".join(filter(None, values.values())) for values, _ in parts]
        axes.set_yticks(range(len(names)), names, parse_math=False)
        axes.set_ylim(len(names) - 0.5, -0.5)
        told = "printed − ours, in half-widths of our prediction interval"
        figure.supxlabel(told, fontsize="medium")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3)


#: How far the picture goes, in half-widths of intervals.
EDGE = 5

#: The colour and the marker of each verdict in the picture.
DRAWN = {CONSISTENT: ("#12652a", "o"), NOT_MET: ("#a3201c", "X"), CANNOT_TELL: ("#7a7a7a", "s")}


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
    told = _in_one_unit(numbers, runs, keys)
    runs["why"] = f"no {value}"
    of_gaps = (gaps[0], text_of(gaps[1])) if gaps else None
    if of_gaps:
        numbers, runs = _with_gaps(numbers, runs, keys, *of_gaps)
    runs["finite"] = runs["value"].where(np.isfinite(runs["value"]))
    cell = [*keys, "setting"]
    ours = runs.groupby(cell, sort=False).agg(
        ours=("finite", "mean"), sd=("finite", "std"),
        seeds=("value", "count"), finite=("finite", "count"),
    ).join(left_out(runs, cell)).reset_index()  # fmt: skip
    absent = {"setting": "", "seeds": 0, "finite": 0}
    table = numbers.merge(ours, on=keys, how="left").fillna(absent)
    table["lost"] = table["lost"].astype(object).fillna("")
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
    if isinstance(measured, str | Path):
        file, table = Path(measured).name, read_table(Path(measured))
    else:
        file, table = "measured", of_frame(pd.DataFrame(measured), "measured")
    if COLUMN in keys and COLUMN not in table:
        told = f"the names of its columns of numbers are in {COLUMN!r}, which {file} lacks"
        raise UserError(f"printed: it has no column 'value', so {told}; call one 'value'.")
    for name in (*keys, "seed", value, *settings):
        one_of(f"{file}: column", name, list(map(str, table.columns)))
    if settings or "setting" not in table:
        table["setting"] = [in_words(row) for row in table[[*settings]].to_dict("records")]
    runs = per_run(table, value, math.inf)
    return runs[[*keys, "setting", "seed", "value"]]


def in_words(setting: Mapping[Any, object]) -> str:
    """A setting as text: ``lr=0.1, batch_size=32``."""
    return ", ".join(f"{name}={text_of(value)}" for name, value in setting.items())


def text_of(value: object) -> str:
    """A key as text: a whole number has no point, and what is missing is empty."""
    if value is None or value != value:
        return ""
    text = str(value).strip()
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
    table = printed.reindex(columns=[*keys, *OF_NUMBERS])
    table = table.rename(columns={"seeds": "count", "sd": "spread"})
    names = ["value", "rounding", "spread", "se", "count"]
    table[names] = table[names].astype(float).fillna({"rounding": 0.0})
    texts = ["unit", "page", "note", "apart"]
    table[texts] = table[texts].astype(object).map(text_of)
    return table.assign(unit=table["unit"].where(table["unit"] != "", unit), kind=LEVEL)


def _in_one_unit(numbers: pd.DataFrame, runs: pd.DataFrame, keys: list[str]) -> list[str]:
    """Take our runs in the units of the printed numbers; what was done to them, in sentences.

    Printed numbers of one metric (a column, and a unit but percent and shares) have one unit.
    ``scale`` is the end of its scale; NaN if it has none, or a number lies outside.
    """
    cells, told = pd.MultiIndex.from_frame(runs[keys]), list[str]()
    ends = numbers["unit"].str.lower().map({**SCALES, "": np.nan})
    other = numbers["unit"].where(ends.isna(), "")
    metric = [numbers[key] for key in (COLUMN, "metric") if key in keys]
    for _, rows in numbers.groupby([*metric, other], sort=False):
        mine = cells.isin(pd.MultiIndex.from_frame(rows[keys]))
        ours, end = runs["value"][mine & np.isfinite(runs["value"])], ends[rows.index].max()
        first, last, low, high = rows["value"].min(), rows["value"].max(), ours.min(), ours.max()
        times, may_be = rows["value"].median() / ours.median(), min(first, low) >= 0
        up = may_be and 0 < high <= 1 and last <= 100 and times > OTHER_UNIT
        down = may_be and last <= 1 < high <= 100 and times < 1 / OTHER_UNIT
        unstated = math.isnan(end) and not other[rows.index].any()
        if unstated and (down or (up and last > 1)):
            sides = f"printed ones are {first:g} to {last:g}, measured ones {low:g} to {high:g}"
            why = "one side may be in percent. Say the unit of the printed ones: %, share, other"
            raise UserError(f"unit: of the values, {sides}: {why} (column 'unit', or --unit).")
        if (up and end == 100) or (down and end == 1):
            factor, unit = (100.0, "percent") if up else (0.01, "shares of 1")
            runs.loc[mine, "value"] *= factor
            told.append(f"Printed numbers are in {unit}: measured ones are taken × {factor:g}")
            low, high = low * factor, high * factor
        is_on = min(first, low) >= 0 and max(last, high) <= end
        numbers.loc[rows.index, "scale"] = end if is_on else np.nan
    return told


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
    both["lost"] = np.isinf(both["value"])
    groups = both.groupby([*cell, "seed"], sort=False)
    ours = groups.agg(why=("why", "first"), sides=("why", "size"), lost=("lost", "sum"))
    ours["value"] = groups["value"].sum(min_count=2).round(12)
    ours["why"] = ours["why"].mask(ours["lost"] == 2, "both sides diverged")
    ours["why"] = ours["why"].mask(ours["sides"] < 2, "a run to compare with is missing")
    ours = ours.reset_index()

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
    """Of each group of runs with a missing value, which seeds are left out, and ``why``."""
    groups: Any = runs[runs["value"].isna()].groupby([*by, "why"])["seed"]
    lost = groups.agg(told=are_left_out, rows="size").reset_index("why").astype(str)
    rows = " in " + lost["rows"] + np.where(lost["rows"] == "1", " row", " rows")
    told = lost["told"] + ": " + lost["why"] + rows.where(lost["why"].str.startswith("no "), "")
    return told.groupby(by).agg("; ".join).rename("lost")


def _compared(table: pd.DataFrame, margin: float | None, width: float | None) -> pd.DataFrame:
    """The table with what the prediction interval and the other definitions say of each row."""
    n, mean, printed, scale = table["seeds"], table["ours"], table["value"], table["scale"]
    judged = (n >= FEWEST) & (table["finite"] == n) & np.isfinite(table["sd"])
    gap, off, tiny = table["kind"] == GAP, mean - printed, 1e-12 * mean.abs()  # rounding
    theirs, errors, freedoms = _errors(table)
    both = np.sqrt((errors**2).sum(axis=0))
    half = samples.student_quantile(ALPHA, errors, freedoms) * both + table["rounding"]
    inside = judged & ~exceeds(off.abs(), half)
    low, high = (mean - half).clip(lower=0 - gap * scale), (mean + half).clip(upper=scale)
    widest: Any = judgement.WIDE * scale if width is None else width
    wide = ~gap & exceeds(high - low, widest)
    conditions = [n == 0, ~judged, ~inside, (mean.abs() <= half) | wide]
    verdicts = [NOT_RUN, judgement.UNDECIDED, NOT_MET, CANNOT_TELL]
    few = "too few seeds: " + n.astype(str) + f"; a verdict takes {FEWEST}"
    counts = (n - table["finite"]).astype(str) + " of " + n.astype(str)
    infinite = "the number is infinite in " + counts + " seeds"
    why = np.select([(n == 0) | judged, n < FEWEST], ["", few], infinite)
    notes = zip(table["note"], why, table["lost"], strict=True)
    beyond = (off.abs() - table["rounding"]).clip(lower=0) / both
    spread = judged & (both > tiny)
    q_p = pd.Series(samples.student_p(beyond, errors, freedoms), table.index)
    # so that normal intervals of 95 % are Student's
    wider = errors * special.stdtrit(freedoms, 1 - ALPHA / 2) / special.ndtri(1 - ALPHA / 2)
    study = pd.DataFrame({
        "original": printed, "original_se": np.hypot(wider[0], wider[1]),
        "replication": mean, "replication_se": wider[2],
    })[judged & (errors[2] > tiny)]  # fmt: skip
    gaps = study[gap[study.index] & (study["original"] != 0)]
    return table.assign(
        printed=printed, se=theirs, inside=inside, why=why,
        verdict=np.select(conditions, verdicts, CONSISTENT),
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
    """The standard error of each printed number, NaN without a printed spread that counts.

    With it those behind the interval, [of the number, of the other one of a gap, of ours], and
    their degrees of freedom. Without a spread, the number is a mean of runs with the spread of
    ours. A spread is that of as many runs as ours if their number is not printed.
    """
    n, sd, gap = (table[name].to_numpy() for name in ("seeds", "sd", "kind"))
    names = [f"{name}{end}" for name in ("se", "spread", "count") for end in ("", "_base")]
    of = table.reindex(columns=names).astype(float).to_numpy()
    se, spread, count = of.T.reshape(3, 2, len(n))
    runs = np.where(np.isnan(count), n, count)
    printed = np.where(se > 0, se, spread / np.sqrt(runs))
    printed = np.where((printed > 0) & (runs >= FEWEST), printed, np.nan)
    printed[1, gap != GAP] = 0
    theirs = np.sqrt((printed**2).sum(axis=0))
    assumed = np.isnan(theirs)
    instead = sd / np.sqrt(np.nan_to_num(np.fmin(*count), nan=1.0)), 0 * sd
    errors = *np.where(assumed, instead, printed), sd / np.sqrt(n)
    return theirs, np.array(errors), np.array([*np.where(assumed, n, runs), n]) - 1


def _said(table: pd.DataFrame, keys: list[str]) -> list[str]:
    """What is assumed of spreads, and which cells have no answer, or one of fewer runs."""
    cells = pd.Series([in_words(row) for row in table[keys].to_dict("records")], table.index)

    def named(which: pd.Series, what: str, why: str = "") -> list[str]:
        """A sentence on these rows, if there are any; ``why`` is the column with the reason."""
        texts = cells + (": " + table[why] if why else "")
        first = "; ".join(texts[which][:MOST_NAMED])
        more = f"; and {which.sum() - MOST_NAMED} more" if which.sum() > MOST_NAMED else ""
        return [f"{what} ({which.sum()}): {first}{more}"] if which.any() else []

    none, spread = table["verdict"] == NOT_RUN, table["se"].notna() & table["count"].isna()
    return [
        *named(none, "Without a run"),
        *named(table["verdict"] == judgement.UNDECIDED, "Undecided", "why"),
        *named(~none & (table["lost"] != ""), "With fewer runs", "lost"),
        *named(spread, "A spread of as many runs as ours is assumed"),
    ]


TITLE = "Is this a reproduction?"

RULE = (
    "Levels agree, or gaps do, if neither their count nor the farthest one is a surprise at 2.5 "
    "%: the count inside the intervals, of which each holds its number with 95 %, and the p value "
    "of the farthest (Cochran's Q, times their number). They can be told if at least half of them "
    "are consistent. Without gaps, the levels decide. Where a number has no answer (no run, too "
    "few, or a diverged one), nothing is reproduced but in part. Cells share seeds and data, so "
    "that a count is less certain than its interval says."
)

#: The rule, case by case: of levels, of gaps, and the answer.
CASES = (
    ("agree", "agree, and can be told", REPRODUCED),
    ("agree, some without an answer", "agree, and can be told", IN_PART),
    ("do not agree", "agree, and can be told", IN_GAPS),
    ("do not agree", "agree, and cannot be told", NOT_REPRODUCED),
    ("agree, or not", "do not agree", NOT_REPRODUCED),
    ("agree", "agree, and cannot be told", NOT_TOLD),
)

READ = (
    "Interval: where the printed number lies with probability 95 %, if it is of runs like ours. "
    "Consistent: it does; not met: it does not; cannot be told: it does, and so does zero, or the "
    "interval of a level is wider than {width}. An interval ends where the scale does (0 to 100 %, "
    "0 to 1). z: how far ours is beyond the rounding of the printed number, in standard errors."
)

ASSUMED = (
    "Where no spread (± a standard error) is printed, a number counts as one run, or as the mean "
    "of the stated number of runs, with the spread of ours; the two of a gap are then paired by "
    "seed. With printed spreads, they are independent, and each counts with its number of runs; "
    "without one, as of as many runs as ours. A spread of fewer than 3 runs does not count. The "
    "interval has where p, the mean of Student's with each number of runs, weighted by the "
    "variances, is above 5 %. A number may be off by half of its last digit. For the definitions "
    "but the first, standard errors are widened to Student's intervals."
)

#: The definitions: the name, what it asks, its source, the column of rows, and what meets it.
DEFINITIONS: tuple[tuple[str, str, str, str, Callable[[Any], bool]], ...] = (
    ("prediction interval", "does the printed number lie where ours lets expect it?",
     "Patil, Peng and Leek 2016", "inside", bool),
    ("same sign", "is our gap on the side of the paper's?", ABSENT, "same_sign", bool),
    ("same sign and significant", "is it, with p ≤ 5 %?",
     "Open Science Collaboration 2015", "significant", bool),
    ("small telescopes", "could the paper have seen a gap like ours? (p ≥ 5 %)",
     "Simonsohn 2015", "telescopes_p", lambda p: p >= 0.05),
    ("sceptical p", "do both convince a sceptic? (two-sided p ≤ 5 %)",
     "Held 2020", "sceptical_p", lambda p: p <= 0.05),
    ("sceptical p, golden level", "do both, on one side? (p ≤ 2.5 %)",
     "Held, Micheloud and Pawel 2022", "golden_p", lambda p: p <= 0.025),
    ("equivalence", "do both differ by less than the margin? (p ≤ 5 %)",
     "Schuirmann 1987", "equivalence_p", lambda p: p <= 0.05),
)  # fmt: skip


def sections(found: Reproduction) -> Iterator[Section]:
    """What the page says."""
    answer, levels, gaps = found.answer()
    told = [f"{answer.capitalize()}.", _counted("printed number", levels), _counted("gap", gaps)]
    told += [f"{sentence}." for sentence in found.told]
    yield "Answer", " ".join(filter(None, told)), pd.DataFrame()
    if found.by:
        yield "Part by part", "The same rule for each part.", pd.DataFrame(_parts(found))
    margin = f"The margin is {found.margin:g}." if found.margin else "No margin is given."
    yield "By which definition?", margin, pd.DataFrame(_definitions(found))
    width = f"{found.width:g}" if found.width else f"{100 * judgement.WIDE:g} % of the scale"
    texts = {LEVEL: READ.format(width=width), GAP: "From the same setting, and paired by seed."}
    for kind, heading in {LEVEL: "Printed numbers", GAP: "Gaps"}.items():
        if len(rows := found.of(kind)):
            yield heading, texts[kind], _listed(rows, found.keys)
    near = pd.concat([part.settings().assign(**values) for values, part in found.parts()])
    if len(near):
        text = "Distance: the root mean square of ours − printed, where there are several settings."
        yield "Other settings", text, near[[*found.by, *near.columns.drop([*found.by])]]
    yield "The rule", RULE, pd.DataFrame(CASES, columns=["levels", "gaps", "answer"])
    yield "What is assumed", ASSUMED, pd.DataFrame()


def as_markdown(content: Iterable[Section]) -> str:
    """The page in Markdown, without its picture."""
    return markdown_page(TITLE, _in_strings(content))


def _in_strings(content: Iterable[Section]) -> list[Section]:
    return [(heading, text, as_strings(table)) for heading, text, table in content]


def write(
    folder: Path, found: Reproduction, more: Iterable[Section] = (), title: str = TITLE,
    inputs: Iterable[Path] = (),
) -> None:  # fmt: skip
    """Write the page, its picture and all rows: ``reproduction.md``, ``.html``, ``.png``, ``.csv``.

    ``more`` are further sections; ``inputs`` are files that are not written over.
    """
    stream = io.BytesIO()
    with suppress(UserError):  # matplotlib is not installed
        found.plot().savefig(stream, format="png", dpi=150)
    content, drawn = _in_strings([*sections(found), *more]), stream.getvalue()
    texts = {
        "md": markdown_page(title, content, "reproduction.png" if drawn else ""),
        "html": html_page(title, content, drawn),
        "csv": found.frame.to_csv(index=False, lineterminator="\n"),
    }
    files = {name: printable(text, keep="\n").encode() for name, text in texts.items()}
    files |= {"png": drawn} if drawn else {}
    write_together(folder, {f"reproduction.{name}": of for name, of in files.items()}, inputs)


def _counted(what: str, count: Count) -> str:
    if not count.number:
        return ""
    shares = count.inside / count.number, *share_interval(count.inside, count.number, ALPHA)
    share, low, high = (f"{100 * share:.0f}" for share in shares)
    return (
        f"{count.inside} of {count.number} {what}s lie inside the prediction interval "
        f"({share} % [{low}, {high}]; 95 % are expected; so few by chance: p "
        f"{_p(count.so_few)}; the farthest: p {_p(count.farthest)}). Of these, "
        f"{count.inside - count.consistent} cannot be told."
    )


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"


def _parts(found: Reproduction) -> Iterator[dict[str, str]]:
    for values, part in found.parts():
        answer, *counts = part.answer()
        levels, gaps = (f"{count.inside} of {count.number}" for count in counts)
        told = f"{counts[1].consistent} of {counts[1].number}"
        line = {"levels inside": levels, "gaps inside": gaps, "gaps consistent": told}
        if any(count.number for count in counts):
            yield {**values, **line, "answer": answer}


def _definitions(found: Reproduction) -> Iterator[dict[str, str]]:
    for name, asks, source, column, met in DEFINITIONS:
        line = {"definition": name, "asks": asks, "source": source}
        for kind in (LEVEL, GAP):
            values = comparable(found.of(kind)).get(column, pd.Series(dtype=float)).dropna()
            line[f"{kind}s"] = f"{values.map(met).sum()} of {len(values)}" if len(values) else ""
        yield line
    if found.gaps:
        same, rows = found.same_order()
        asks, told = f"is the order of {found.gaps[0]}s the paper's?", f"{same} of {rows} rows"
        yield {"definition": "order", "asks": asks, "source": ABSENT, "levels": told}


def _listed(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The rows as the page shows them."""
    told = rows[["note", "apart", "setting"]].to_numpy()
    spread = ("\u00a0±\u00a0" + rows["se"].map("{:.4g}".format)).where(rows["se"].notna(), "")
    printed = rows["printed"].map("{:g}".format).str.replace("-", "−") + spread
    same = [alike(*row) for row in rows[["ours", "low", "high"]].to_numpy(float)]
    table = rows.assign(
        printed=printed + "\u00a0" + rows["unit"],
        ours=[value for value, _, _ in same],
        interval=[f"{low}\u00a0to\u00a0{high}" if low != ABSENT else "" for _, low, high in same],
        z=rows["z"].round(2),
        note=["; ".join(filter(None, row)) for row in told],
    )
    shown = ("page", "printed", "ours", "seeds", "interval", "verdict", "z", "note")
    return table[[*keys, *shown]]
