"""The picture of any experiment: rows of ends and differences, what was tuned, curves; a table."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ngo import plots
from ngo.analysis.experiment import COSTS, ROW, Plan, plan
from ngo.plots import captions, curves, style
from ngo.printing import bracketed, dashed
from verdicts.registry import one_of

#: The inches of a column's and of a page's width, how many panels stand side by side, and the most
#: letters of a row's name.
WIDTHS = {"page": (style.TEXT_WIDTH, 3, 42), "column": (3.3, 1, 22)}

#: Inches: the height of a page without its caption, of a panel, of a row, of the rows' axis; the
#: width of a letter, of a panel beside its axis; the distance of numbers of diverged runs.
PAGE, PANEL, HEIGHT, AXIS, LETTER, MARGIN, LOST = 8.0, 1.65, 0.14, 0.75, 0.06, 0.75, 0.24

#: Shares of a panel: the strip for numbers of diverged runs, the distance of names of curves.
STRIP, GAP = 0.13, 0.11

#: At most: the letters of a name at a curve, the curves of a panel, the decades of V.
SHORT, CURVES, DECADES = 12, 8, 12

#: The titles of panels, and the words at their axes; other fields are without their underscores.
TITLES, WORDS = (style.WORDS[name] for name in ("titles", "experiment"))
SYMBOLS = {"lr": "η", "gamma": "γ", "p": "p"}

#: The columns of means and intervals, and how many columns of ``table`` are results.
ENDS, RESULTS = ["mean", "low", "high"], 4


@dataclass(frozen=True)
class Picture:
    """What of a plan fits a page."""

    plan: Plan
    #: The panel and the line of each row; the line of a heading is empty.
    rows: list[tuple[str, str]]
    #: The kind (``tuned``, the score or V) and the name of each panel.
    panels: list[tuple[str, str]]
    width: str
    across: int
    #: The style of each line. Its label stands at its curve: a number, if names are long there.
    looks: dict[str, style.Style]
    #: What does not fit, in sentences.
    left_out: list[str]


def picture(shown: Plan, width: str = "page") -> Picture:
    """The best and the worst rows, and as many panels as fit, those of what is tuned first.

    Raises a UserError for a ``width`` that is neither ``page`` nor ``column``.
    """
    _, across, _ = WIDTHS[one_of("width", width, WIDTHS)]
    ends = shown.ends[shown.ends["chosen"] & (shown.ends["value"] == shown.score)]
    ranked = ends.sort_values("mean", ascending=shown.score == "loss", kind="stable")
    names = sorted(shown.ends["panel"].unique(), key=in_order)
    panels = [("tuned", name) for name in names if shown.x]
    for kind in (shown.score, "V")[:across]:
        drawn = shown.course[(shown.course["value"] == kind) & (shown.course["mean"] > 0)]
        panels += [(kind, name) for name in names if name in {*drawn["panel"]}]
    several, between = len(names) > 1, 0
    across = min(across, len(names) if several else max(1, len(panels)))
    below = PANEL * min(-(-len(panels) // across), 3)
    most = max(2, int((PAGE - AXIS - below) / HEIGHT / len(names)) - several)
    rows: list[tuple[str, str]] = []
    for name in names:
        lines = list(ranked["line"][ranked["panel"] == name])
        cut = slice(most - most // 2, max(most - most // 2, len(lines) - most // 2))
        between += len(lines[cut])
        del lines[cut]
        rows += [*[(name, "")] * several, *((name, line) for line in lines)]
    fit = across * int((PAGE - AXIS - HEIGHT * len(rows)) / PANEL)
    left_out = [f"Rows between the best and the worst, not shown: {between}."] * (between > 0)
    left_out += [f"Panels not shown: {len(panels) - fit}."] * (len(panels) > fit)
    looks = style.styles(shown.ends["line"])
    if len(shown.course) and max(map(len, looks)) > SHORT:
        order = dict.fromkeys(line for _, line in rows if line)
        looks |= {line: looks[line].named(f"{k}") for k, line in enumerate(order, 1)}
    return Picture(shown, rows, panels[:fit], width, across, looks, left_out)


def plot(metrics: pd.DataFrame, *, width: str = "page", figure: Figure | None = None) -> Figure:
    """The picture of runs by their tidy table: ``Fit.metrics``, or several, concatenated.

    ``width`` is ``page`` (6.75 in) or ``column`` (3.3 in, with fewer panels). It is drawn on
    ``figure``, or a new one. Raises a UserError for another width, for an absent column, and for
    two runs of a seed that differ in no field.
    """
    return draw(picture(plan(metrics), width), figure)


def draw(shown: Picture, figure: Figure | None = None) -> Figure:
    """Draw the rows, and below them the panels."""
    with mpl.rc_context(style.HOUSE):
        figure = figure or plots.new_figure(1)
        below = -(-len(shown.panels) // shown.across)
        heights = [AXIS + HEIGHT * (len(shown.rows) + 1), PANEL * below][: 1 + (below > 0)]
        figure.set_size_inches(WIDTHS[shown.width][0], sum(heights))
        figure.set_layout_engine("constrained")
        parts = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
        axes = _draw_rows(shown, parts[0])
        grid = [*parts[-1].subplots(below, shown.across, squeeze=False).flat] if below else []
        kinds: dict[str, list[Axes]] = {}
        for axis, (kind, name) in zip(grid, shown.panels, strict=False):
            axis.set(title=name or TITLES.get(kind, "training"), gid=kind)
            (_draw_tuned if kind == "tuned" else _draw_course)(shown, axis, kind, name)
            kinds.setdefault(kind, []).append(axis)
        for alike in kinds.values():
            plots.share_limits(*alike)
            for axis in alike[1:]:
                axis.set_ylabel(axis.get_ylabel() * axis.get_subplotspec().is_first_col())
        for axis in grid[len(shown.panels) :]:
            axis.set_axis_off()
        axes += grid[: len(shown.panels)]
        plots.titles(axes)
        figure.draw_without_rendering()  # ticks are made in this style, and panels have their size
        for axis in axes:
            plots.mark_outside(axis)
    return figure


def _draw_rows(shown: Picture, figure: Any) -> list[Axes]:
    """Ends, differences and V with intervals; beside them, what each case has and spends."""
    of, rows = shown.plan, shown.rows
    ends = of.ends[of.ends["chosen"]]
    found = pd.concat([ends, of.differences]).set_index(["value", *ROW]).sort_index()
    spread = shown.width == "page" and (ends["mean"][ends["value"] == "V"] > 0).any()
    kinds = [of.score, *of.differences["value"].unique(), *["V"] * bool(spread)]
    axes = [*figure.subplots(1, len(kinds), squeeze=False)[0]]
    for axis, kind in zip(axes, kinds, strict=True):
        at_left = {"transform": axis.get_yaxis_transform(), "va": "center", "color": "0.5"}
        for y, row in enumerate(rows):
            told = "reference" if row[1] else ""
            if (kind, *row) in found.index:
                mean, low, high, lost = found.loc[(kind, *row), [*ENDS, "diverged"]].astype(float)
                look = {"markersize": 4, "elinewidth": 0.8, **shown.looks[row[1]].marks}
                look |= {"markerfacecolor": "white"} if lost else {}
                axis.errorbar(mean, y, xerr=[[mean - low], [high - mean]], **look)
                told = "× diverged" if np.isnan(mean) and lost else ""
            axis.text(0.03, y, told, **at_left)
        if kind in ("difference", "ratio"):
            axis.axvline(float(kind == "ratio"), color="0.6", lw=0.6, zorder=0)
        means = found.loc[kind, "mean"].astype(float)
        if kind == "V" or (kind in ("loss", "ratio") and means.max() > 4 * means.min()):
            plots.log_axis(axis.xaxis)
            axis.set_xlim(left=max(axis.get_xlim()[0], axis.get_xlim()[1] / 10**DECADES))
        axis.set(title=TITLES.get(kind, "at the end"), xlabel=_words(kind))
        axis.set(ylim=(len(rows) - 0.5, -1.5), yticks=range(len(rows)), yticklabels=[])
        axis.tick_params(axis="y", length=0)
        axis.grid(axis="y", color="0.92")
    most, names = WIDTHS[shown.width][2], []
    for name, line in rows:
        key = shown.looks[line].label if line else ""
        name = textwrap.shorten(line or name, most, placeholder=" …")
        names.append(name if key in ("", line) else f"{key}  {name}")
    axes[0].set_yticklabels(names)
    for text, (_, line) in zip(axes[0].get_yticklabels(), rows, strict=True):
        text.set(**{"color": shown.looks[line].colour} if line else {"weight": "bold"})
    if shown.width == "page":
        facts = table(of).sort_index().set_index(["setting", "case"]).iloc[:, RESULTS:]
        chosen = [*of.ends["chosen"][of.ends["value"] == of.score]]
        facts = facts[chosen].reindex(pd.MultiIndex.from_tuples(rows)).fillna("")
        facts = facts.loc[:, (facts != "").any()].rename(columns="  {}".format)
        where = {"transform": axes[-1].get_yaxis_transform(), "va": "center", "family": "monospace"}
        for y, text in enumerate(facts.to_string(index=False).split("\n"), -1):
            axes[-1].text(1.05, y, text, **where, color="0.4" if y < 0 else "black")
    return axes


def in_order(name: str) -> str:
    """What names are sorted by: numbers in them by their size."""
    return re.sub(r"\d+(\.\d+)?", lambda number: f"{float(number[0]):020.9f}", name)


def _words(name: str) -> str:
    return WORDS.get(name, name.replace("_", " "))


def _draw_tuned(shown: Picture, axis: Axes, kind: str, panel: str) -> None:
    """Ends along the tuned value, those of other rates pale; a ring around what was chosen."""
    x, looks, of = shown.plan.x, shown.looks, shown.plan.ends
    of = of[(of["panel"] == panel) & (of["value"] == shown.plan.score)]
    values = sorted(of[x].dropna().unique())
    base = 10 if 0 < 8 * values[0] <= values[-1] else None
    inches = WIDTHS[shown.width][0] / shown.across - MARGIN
    longest = max(len(f"{value:g}") for value in values)
    if shown.plan.score == "loss":
        plots.log_axis(axis.yaxis)
    for (name, front), rows in of.groupby(["line", "front"], sort=False):
        look = looks[name]
        pale = {"color": to_hex(0.5 + 0.5 * np.array(to_rgb(look.colour))), "linestyle": "none"}
        curves.error_bars(axis, rows.sort_values(x), x, look, **({} if front else pale))
        for mean in rows["mean"][rows[x].isna()]:
            axis.axhline(mean, color=look.colour, ls=look.line, lw=1 if front else 0.4)
    plots.value_ticks(axis, values, base, LETTER * (longest + 1) / inches)  # all are in sight
    lost = of[(of["diverged"] > 0) & of[x].notna()]
    near = of[curves.clipped(of["mean"]) == of["mean"]]
    curves.fit(axis, near.assign(diverged=0), STRIP if len(lost) else 0)
    axis.set_xlim(axis.get_xlim())
    if len(lost):
        strip = {"transform": axis.transAxes, "color": "white", "zorder": 2.4, "gid": plots.COVER}
        axis.add_patch(Rectangle((0, 0), 1, STRIP, **strip))
        at = (axis.transData - axis.transAxes).transform([(value, 1) for value in lost[x]])[:, 0]
        marks = zip(at, lost["diverged"], lost["line"], strict=True)
        for pile in plots.piles(axis, marks, LOST):
            places, counts, names = zip(*pile, strict=True)
            colours = {looks[name].colour for name in names}
            colour = colours.pop() if len(colours) == 1 else "0.3"
            where = {"transform": axis.transAxes, "ha": "center", "zorder": 3, "color": colour}
            axis.text((places[0] + places[-1]) / 2, 0.01, f"×{sum(counts)}", **where)
    for row in of[of["chosen"]].itertuples():
        ring = {"edgecolors": looks[row.line].colour, "linestyles": "--" if row.edge else "-"}
        axis.scatter(getattr(row, x), row.mean, s=70, facecolors="none", **ring)
    axis.set(xlabel=_words(x), ylabel=_words(shown.plan.score))


def _draw_course(shown: Picture, axis: Axes, kind: str, panel: str) -> None:
    """Curves of the best lines; their names, or numbers, at the ends."""
    rows, time, looks = shown.plan.course, shown.plan.time, shown.looks
    rows = rows[(rows["panel"] == panel) & (rows["value"] == kind) & (rows["mean"] > 0)]
    rows = rows.assign(**{time: rows[time] / (1e6 if time == "bytes_sent" else 1)})
    best = [line for name, line in shown.rows if name == panel and line in {*rows["line"]}]
    cases = [(looks[line], rows[rows["line"] == line]) for line in best[:CURVES]]
    for look, own in cases:
        curves.band(axis, own, time, look)
    if kind != "accuracy":
        plots.log_axis(axis.yaxis)
    curves.fit(axis, pd.concat([own for _, own in cases]), 0, DECADES)
    totals = rows.groupby("line")[time].max()
    if totals.max() > 10 * totals.min():
        plots.log_axis(axis.xaxis)
    ends = [axis.transData.transform(own[[time, "mean"]].iloc[-1]) for _, own in cases]
    spots = axis.transAxes.inverted().transform(ends)
    order = spots[:, 1].argsort()
    gaps = GAP * np.arange(len(order))
    spread = np.maximum.accumulate(spots[order, 1].clip(0, 1) - gaps) + gaps
    spread -= max(0, spread[-1] - 1)
    for k, y in zip(order, spread, strict=True):
        look, at = cases[k][0], {"xycoords": "axes fraction", "textcoords": "offset points"}
        at |= {"va": "center", "color": look.colour, "path_effects": plots.HALO}
        axis.annotate(look.label, (spots[k, 0], y), (4, 0), **at)
    axis.set(xlabel=_words(time), ylabel=_words(kind))


def notes(shown: Picture, runs: pd.DataFrame) -> list[str]:
    """What the caption says of this picture and its ``runs``; a sentence only where it is true."""
    of, kinds = shown.plan, {kind for kind, _ in shown.panels}
    own, ends = {*of.ends["value"]}, of.ends[of.ends["value"] == of.score]
    log = of.score == "loss" or bool((of.ends["mean"][of.ends["value"] == "V"] > 0).any())
    by = "held-out accuracy" if of.by == "holdout_accuracy" else "what is shown"
    lines = ends[ends["chosen"]].groupby("panel").size().max()
    names = " ".join(word for row in shown.rows for word in row)
    more = [
        f"{_words(name)} ({runs[name].min():g} to {runs[name].max():g})"
        for name in {*SYMBOLS} & {*runs} - {*of.tuned}
        if runs[name].nunique() > 1 and f"{name} = " not in names
    ]
    tuned, numbers = "tuned" in kinds, any(look.label != x for x, look in shown.looks.items())
    told = {
        "The end of training, the best first.": True,
        f"Each at its best {' and '.join(map(_words, of.tuned))}, by {by}.": of.tuned,
        "Differences are to the reference, paired by seed.": len(of.differences),
        "Workers: the mean of their own models.": shown.width == "page" and "workers" in own,
        f"Rows also differ in {' and '.join(sorted(more))}.": more,
        "Rings: chosen.": tuned,
        "Dashed: the last value that was tried.": tuned and ends["edge"][ends["chosen"]].any(),
        "Pale: other values of what else is tuned.": tuned and not ends["front"].all(),
        f"Curves: the best {CURVES}.": of.score in kinds and lines > CURVES,
        "Numbers at curves are those of rows.": of.score in kinds and numbers,
        captions.ONE_MODEL: log and "centralized" in {*runs["method"]},
    }
    lost = captions.diverged(runs).replace(" (×)", " (×)" * tuned)
    about = [captions.classes(runs), captions.intervals(runs, geometric=log), lost]
    return [*(sentence for sentence, true in told.items() if true), *shown.left_out, *about]


def table(shown: Plan) -> pd.DataFrame:
    """All cases as they are printed: their results, then their rates and what they spend."""
    of = {value: rows.reset_index() for value, rows in shown.ends.groupby("value")}
    ends, digits = of[shown.score], 4 if shown.score == "loss" else 2
    form = f"{{:.{digits}f}}".format
    columns = {"setting": ends["panel"], "case": ends["line"]}
    columns[_words(shown.score).replace("\n", " ")] = dashed(ends["mean"], form)
    pairs = zip(ends["low"], ends["high"], strict=True)
    columns["95 % interval"] = [bracketed(*pair, form) for pair in pairs]
    columns["V"] = dashed(of["V"]["mean"], "{:.3g}".format)
    columns["seeds"] = ends["seeds"].map(str)
    for name in shown.tuned:
        columns[SYMBOLS.get(name, _words(name))] = dashed(ends[name], "{:g}".format)
    for name in ("workers", *COSTS):
        if name in of:
            spent = of[name]["mean"] / (1e6 if name == "bytes_sent" else 1)
            columns[_words(name)] = dashed(spent, plots.short)
    if ends["diverged"].any():
        of_all = " of " + (ends["seeds"] + ends["diverged"]).map(str)
        columns["diverged"] = (ends["diverged"].map(str) + of_all).where(ends["diverged"] > 0, "")
    keys = ends.assign(**{name: ends[name].map(in_order) for name in ROW})
    return pd.DataFrame(columns).loc[keys.sort_values([*ROW, *shown.tuned], kind="stable").index]
