"""The picture of any experiment: rows of ends and differences, tuned values, curves; and a table."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ngo import plots
from ngo.analysis.experiment import Plan, plan
from ngo.plots import captions, curves, style
from ngo.plots.style import COLOURS, MARKERS, METHOD_STYLES, Style
from ngo.printing import ABSENT, bracketed, dashed, number
from verdicts.registry import one_of

#: The widths of a column and of a page in inches, and how many panels stand side by side.
WIDTHS = {"page": (style.TEXT_WIDTH, 3), "column": (3.3, 1)}

#: Inches: the height of a page without its caption, of a panel, of a row, of the rows' axis.
PAGE, PANEL, ROW, AXIS = 8.0, 1.65, 0.14, 0.75

#: The letters of a row's name and of a curve's, the curves of a panel, and the decades of V, at most.
LETTERS, SHORT, CURVES, DECADES = 40, 12, 8, 12

#: Workers are told of where their mean differs by more than this share.
TOLD = 0.002

#: Numbers of diverged runs that are nearer than so many inches are added up.
LOST = 0.24

#: The share of a panel for numbers of diverged runs, and inches of a panel beside its axis.
STRIP, MARGIN = 0.13, 0.75

#: A row farther from the quartiles than so many interquartile ranges is outside the axis.
FENCE = 4

#: The width of a letter in inches, and the distance of names at curves, as a share of a panel.
LETTER, GAP = 0.058, 0.11

#: The names of fields and of scores at axes.
LABELS = {
    **{"lr": "learning rate", "gamma": "synchronization rate γ", "p": "exponent p"},
    **{"bytes_sent": "MB sent", "step": "steps", "epoch": "epochs", "V": "index $V$"},
    **{"accuracy": "test accuracy,\nmean model (%)", "loss": "test loss,\nmean model"},
    **{"difference": "points", "ratio": "ratio of losses"},
}

TITLES = {
    **{"accuracy": "at the end", "loss": "at the end", "difference": "difference"},
    **{"ratio": "difference", "V": "disagreement", "tuned": "tuning", "course": "training"},
}
SYMBOLS = {"lr": "η", "gamma": "γ"}

Looks = dict[str, Style]

#: The units of what lines cost.
COSTS = {"bytes_sent": ("MB sent", 1e-6), "virtual_seconds": ("seconds", 1)}


@dataclass(frozen=True)
class Page:
    """What of a plan fits a page."""

    #: The place and side of each row; the heading of a place has no side.
    rows: list[tuple[str, str | None]]
    #: The kind of each panel (``tuned``, the score or V) and its place.
    panels: list[tuple[str, str]]
    across: int
    width: str
    left_out: list[str]


def page(shown: Plan, width: str = "page") -> Page:
    """The best and the worst rows, and as many panels as fit, those of tuned values first.

    Raises a UserError for a ``width`` that is neither ``page`` nor ``column``.
    """
    most = WIDTHS[one_of("width", width, WIDTHS)][1]
    of = shown.ends[shown.ends["value"] == shown.score]
    ranked = of[of["chosen"]].sort_values("mean", ascending=shown.score == "loss", kind="stable")
    places = list(of["where"].unique())
    kinds = {"tuned": of["panel"].unique() if shown.x else []}
    for kind in (shown.score, "V")[: 2 if most > 1 else 1]:
        drawn = shown.course[(shown.course["value"] == kind) & (shown.course["mean"] > 0)]
        kinds[kind] = [place for place in places if place in {*drawn["where"]}]
    panels = [(kind, place) for kind, of_kind in kinds.items() for place in of_kind]
    across = min(most, len(panels) if len(places) == 1 else len(places))
    tuned = min(-(-len(kinds["tuned"]) // across), 3) if panels else 0
    room = int((PAGE - AXIS - tuned * PANEL) / ROW / len(places)) - (len(places) > 1)
    rows: list[tuple[str, str | None]] = []
    between = 0
    for place in places:
        sides = [(place, side) for side in ranked["side"][ranked["where"] == place]]
        between += max(0, len(sides) - room)
        if len(sides) > room:
            sides = [*sides[: -(-room // 2)], *sides[len(sides) - room // 2 :]]
        rows += [(place, None), *sides] if len(places) > 1 else sides
    fit = across * int((PAGE - AXIS - ROW * len(rows)) / PANEL)
    left_out = [f"{between} more lie between the best and the worst rows."] if between else []
    if beyond := len(panels[fit:]):
        left_out.append(f"{beyond} more panels do not fit the page.")
    return Page(rows, panels[:fit], across, width, left_out)


def plot(metrics: pd.DataFrame, *, width: str = "page", figure: Figure | None = None) -> Figure:
    """The picture of runs by their tidy table: ``Fit.metrics``, or several, concatenated.

    ``width`` is ``page`` (6.75 in) or ``column`` (3.3 in, with fewer panels). It is drawn on
    ``figure``, or a new one. Raises a UserError for another width, and for two runs of a seed that
    differ in no field.
    """
    shown = plan(metrics)
    return draw(shown, page(shown, width), figure)


def draw(shown: Plan, on: Page, figure: Figure | None = None) -> Figure:
    """Draw the rows, and below them the panels."""
    with mpl.rc_context(style.HOUSE):
        figure = figure or plots.new_figure(1)
        below = -(-len(on.panels) // on.across) if on.panels else 0
        heights = [AXIS + ROW * (len(on.rows) + 1), *[PANEL * below] * bool(below)]
        figure.set_size_inches(WIDTHS[on.width][0], sum(heights))
        figure.set_layout_engine("constrained")
        parts = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
        looks = styles(shown)
        axes = _draw_rows(parts[0], shown, on, looks)
        for part in parts[1:]:
            grid = [*part.subplots(below, on.across, squeeze=False).flat]
            for axis, (kind, place) in zip(grid, on.panels, strict=False):
                if kind == "tuned":
                    _draw_tuned(axis, shown, on, place, looks)
                else:
                    _draw_course(axis, shown, on, kind, place, looks)
                axes.append(axis)
            for axis in grid[len(on.panels) :]:
                axis.set_axis_off()
            kinds = [kind for kind, _ in on.panels]
            for kind in {*kinds} if len(kinds) > len({*kinds}) else ():
                alike = [axis for axis, of in zip(grid, kinds, strict=False) if of == kind]
                plots.share_limits(*alike)
                for axis in alike:
                    if not axis.get_subplotspec().is_first_col():
                        axis.set_ylabel("")
        plots.titles(axes)
        for axis in axes:
            plots.mark_outside(axis)
    return figure


def styles(shown: Plan) -> dict[str, Style]:
    """The look of each line and side: a colour for its first word, a marker for the rest."""
    names = list(dict.fromkeys([*shown.ends["line"], *shown.ends["side"]]))
    firsts = [name.partition(", ")[0] for name in names]
    firsts = names if len(set(firsts)) == 1 else firsts
    known = {look.label: look for look in METHOD_STYLES.values() if look.label in firsts}
    free, shapes = (
        [one for one in every if one not in {getattr(look, name) for look in known.values()}]
        for name, every in (("colour", COLOURS), ("marker", MARKERS))
    )
    others = [*dict.fromkeys(one for one in firsts if one not in known)]
    looks: dict[str, Style] = {}
    for place, (name, first) in enumerate(zip(names, firsts, strict=True)):
        k, again = others.index(first) if first in others else 0, firsts[:place].count(first)
        look = known.get(first) or replace(
            style.kth_style(k, name), colour=free[k % len(free)], marker=shapes[k % len(shapes)]
        )
        looks[name] = look.variant(k + again, name) if again else look.named(name)
    return looks


def keys(on: Page) -> dict[str, str]:
    """What stands at the end of each side's curve: its name, or its number if names are long."""
    names = list(dict.fromkeys(side for _, side in on.rows if side))
    return {name: f"{k}" if _numbered(on) else name for k, name in enumerate(names, 1)}


def _numbered(on: Page) -> bool:
    return max(len(side) for _, side in on.rows if side) > SHORT


def _draw_rows(figure: Any, shown: Plan, on: Page, looks: Looks) -> list[Axes]:
    """Ends, differences and V with intervals, and in words what each row has and costs."""
    table = pd.concat([shown.ends[shown.ends["chosen"]], shown.differences])
    found = {value: rows.set_index(["where", "side"]) for value, rows in table.groupby("value")}
    values, facts = [shown.score, *shown.differences["value"].unique()], {}
    if on.width == "page":
        values += ["V"] * bool((found["V"]["mean"] > 0).any())
        facts = _facts(shown, found, on)
    widths = [LETTER * max(map(len, [head, *texts])) for head, texts in facts.items()]
    room = (
        WIDTHS[on.width][0]
        - LETTER * min(LETTERS, max(len(f"{side}") for _, side in on.rows))
        - sum(widths)
    )
    axes = figure.subplots(
        *(1, len(values) + len(facts)),
        sharey=True,
        width_ratios=[room / len(values)] * len(values) + widths,
    )
    axes = [*np.atleast_1d(axes)]
    for axis, value in zip(axes, values, strict=False):
        _draw_ends(axis, shown, on, found, value, looks)
    for axis, (head, texts) in zip(axes[len(values) :], facts.items(), strict=True):
        for y, text in enumerate([head, *texts], -1):
            axis.text(0, y, text, va="center", color="0.35" if y < 0 else "black")
        axis.set_axis_off()
    names, known = [], keys(on)
    for where, side in on.rows:
        name = side if side is None or known[side] == side else f"{known[side]}  {side}"
        names.append(textwrap.shorten(name or where, LETTERS, placeholder=" …"))
    axes[0].set_yticks(range(len(names)), names)
    axes[0].set_ylim(len(names) - 0.5, -1.5)
    for label, (_, side) in zip(axes[0].get_yticklabels(), on.rows, strict=True):
        label.set(color=looks[side].colour) if side else label.set(weight="bold")
    for axis, value in zip(axes, values, strict=False):
        axis.set_title(TITLES[value])
    return axes[: len(values)]


def _draw_ends(
    axis: Axes, shown: Plan, on: Page, found: dict[str, pd.DataFrame], value: str, looks: Looks
) -> None:
    table = found[value][found[value].index.isin(on.rows)]
    wide = value in ("loss", "ratio") and table["mean"].max() > 4 * table["mean"].min() > 0
    log = wide or value == "V"
    if log:
        plots.log_axis(axis.xaxis)
    for y, (where, side) in enumerate(on.rows):
        if side and (where, side) not in table.index:
            axis.text(
                0.03, y, "reference", transform=axis.get_yaxis_transform(), va="center", color="0.5"
            )
            continue
        if side is None:
            continue
        row = table.loc[(where, side)]
        spread = np.nan_to_num([[row["mean"] - row["low"]], [row["high"] - row["mean"]]])
        fill = {"markerfacecolor": "white"} if row["diverged"] else {}
        axis.errorbar(
            row["mean"], y, xerr=spread, **looks[side].marks, **fill, markersize=4, elinewidth=0.8
        )
    ends = table[["mean", "low", "high"]].astype(float)
    ends = np.log10(ends.where(ends > 0)) if log else ends
    near = ends[curves.clipped(ends["mean"], FENCE) == ends["mean"]]
    zero = {"difference": 0.0, "ratio": float(not log)}.get(value, np.nan)
    low, high = np.nanmin([*near.min(), zero]), np.nanmax([*near.max(), zero])
    low = max(low, high - DECADES) if log else low
    margin = 0.08 * (high - low) or 0.1
    limits = np.array([low - margin, high + margin])
    axis.set_xlim(10**limits if log else limits)
    if not np.isnan(zero):
        axis.axvline(float(value == "ratio"), color="0.6", lw=0.6, zorder=0)
    axis.set_xlabel(LABELS[value])
    axis.grid(axis="y", color="0.92")
    axis.tick_params(axis="y", length=0, labelleft=axis.get_subplotspec().is_first_col())


def _facts(shown: Plan, found: dict[str, pd.DataFrame], on: Page) -> dict[str, list[str]]:
    """Columns of words, by their headings: rates, costs, diverged runs."""
    of = found[shown.score]
    facts = {}
    if shown.tuned:
        texts = of[shown.tuned].apply(
            lambda row: ", ".join(f"{rate:g}" for rate in row.dropna()), axis=1
        )
        facts[", ".join(SYMBOLS.get(name, name.replace("_", " ")) for name in shown.tuned)] = texts
    workers = found["workers"]["mean"]
    if (abs(workers - of["mean"]) > TOLD * of["mean"]).any():
        facts["workers"] = workers.map(lambda x: ABSENT if pd.isna(x) else plots.short(x))
    for name, (head, unit) in COSTS.items():
        if name in found and (found[name]["mean"] > 0).any():
            facts[head] = (found[name]["mean"] * unit).map(
                lambda x: ABSENT if pd.isna(x) else plots.short(x)
            )
    if of["diverged"].any():
        counts = of["diverged"].astype(str) + " of " + (of["diverged"] + of["seeds"]).astype(str)
        facts["diverged"] = counts.where(of["diverged"] > 0, "")
    return {
        head: [texts[row] if row[1] else "" for row in on.rows] for head, texts in facts.items()
    }


def _draw_tuned(axis: Axes, shown: Plan, on: Page, panel: str, looks: Looks) -> None:
    """Ends along the tuned value, those of other rates pale; a ring around what was chosen."""
    x, of = shown.x, shown.ends
    of = of[(of["panel"] == panel) & (of["value"] == shown.score)]
    values = of[x].dropna().unique()
    base = 10 if min(values) > 0 and max(values) >= 8 * min(values) else None
    inches = WIDTHS[on.width][0] / on.across - MARGIN
    plots.value_ticks(
        axis, values, base, LETTER * max(len(f"{value:g}") for value in values) / inches + 0.02
    )
    cases, levels = [], []
    for name, rows in of.groupby("line", sort=False):
        look, level = looks[name], rows[x].isna()
        grey = to_hex(0.5 + 0.5 * np.array(to_rgb(look.colour)))
        pale = Style("", grey, "none", look.marker)
        cases += [(pale, rows[~rows["front"] & ~level]), (look, rows[rows["front"] & ~level])]
        levels += [(look, rows[rows["front"] & level])]
    cases, levels = ([case for case in every if len(case[1])] for every in (cases, levels))
    if shown.score == "loss":
        plots.log_axis(axis.yaxis)
    for look, rows in cases:
        curves.error_bars(axis, rows.sort_values(x), x, look)
    for look, rows in levels:
        axis.axhline(rows["mean"].iloc[0], color=look.colour, ls=look.line, lw=1)
    lost = of[of["diverged"] > 0]
    near = of[curves.clipped(of["mean"]) == of["mean"]]
    curves.fit(axis, near.assign(diverged=0), STRIP if len(lost) else 0)
    axis.add_patch(
        Rectangle(
            (0, 0),
            1,
            STRIP * (len(lost) > 0),
            transform=axis.transAxes,
            color="white",
            zorder=2.4,
            gid=plots.COVER,
        )
    )
    axis.set_xlim(axis.get_xlim())
    counted = (
        lost.assign(
            place=(axis.transData - axis.transAxes).transform([(at, 1) for at in lost[x]])[:, 0]
        )
        if len(lost)
        else lost
    )
    marks = [] if lost.empty else counted[["place", "diverged", "line"]].itertuples(index=False)
    for pile in plots.piles(axis, marks, LOST):
        ats, numbers, names = zip(*pile, strict=True)
        colours = {looks[name].colour for name in names}
        look = {"color": colours.pop() if len(colours) == 1 else "0.3", "ha": "center", "zorder": 3}
        axis.text(
            (ats[0] + ats[-1]) / 2, 0.01, f"×{sum(numbers)}", transform=axis.transAxes, **look
        )
    axis.set(
        xlabel=LABELS.get(x, x.replace("_", " ")),
        ylabel=LABELS[shown.score],
        title=panel or TITLES["tuned"],
    )
    for name, rows in of[of["chosen"] & (x in shown.tuned)].groupby("line"):
        for edge, some in rows.groupby("edge"):
            ring = {
                "facecolors": "none",
                "edgecolors": looks[name].colour,
                "linestyles": ":" if edge else "-",
            }
            axis.scatter(some[x], some["mean"], s=70, **ring)


def _draw_course(axis: Axes, shown: Plan, on: Page, kind: str, where: str, looks: Looks) -> None:
    """Curves of the best sides; their names, or numbers, at the ends."""
    rows = shown.course[(shown.course["where"] == where) & (shown.course["value"] == kind)]
    head, unit = COSTS.get(shown.time, (LABELS.get(shown.time, shown.time), 1))
    rows = rows.assign(**{shown.time: rows[shown.time] * unit})
    best = [side for place, side in on.rows if place == where and side][:CURVES]
    cases = [(looks[side], rows[rows["side"] == side]) for side in best]
    curves.lines(
        axis,
        cases,
        shown.time,
        kind,
        xlabel=head,
        ylabel=LABELS[kind],
        title=where or TITLES[kind if kind == "V" else "course"],
    )
    ends = rows[rows["mean"] > 0].drop_duplicates("side", keep="last").set_index("side")
    if ends[shown.time].max() > 10 * ends[shown.time].min() > 0:
        plots.log_axis(axis.xaxis)
    to_axes, known = (axis.transData - axis.transAxes).transform, keys(on)
    spots = {
        side: to_axes(ends.loc[side, [shown.time, "mean"]].astype(float))
        for side in best
        if side in ends.index
    }
    letter = LETTER / (WIDTHS[on.width][0] / on.across - MARGIN)
    order = sorted(spots, key=lambda side: spots[side][1].clip(0, 1))
    for way, names in ((1, order), (-1, order[::-1])):  # up from the lowest, and down from the top
        for k, name in enumerate(names):
            spot = spots[name]
            spot[1] = spot[1].clip(0, 1)
            for other in names[:k]:
                if abs(spot[0] - spots[other][0]) < letter * len(known[name]):
                    spot[1] = way * max(way * spot[1], way * spots[other][1] + GAP)
    for name, spot in spots.items():
        look = {"color": looks[name].colour, "va": "center", "textcoords": "offset points"}
        axis.annotate(
            known[name], spot, (4, 0), xycoords="axes fraction", path_effects=plots.HALO, **look
        )


def notes(shown: Plan, on: Page, runs: pd.DataFrame) -> list[str]:
    """What the caption says of this picture; each sentence only where it is true."""
    ends, kinds = shown.ends[shown.ends["value"] == shown.score], {kind for kind, _ in on.panels}
    rates = " and ".join(LABELS.get(name, name.replace("_", " ")) for name in shown.tuned)
    judged = "held-out accuracy" if shown.by == "holdout_accuracy" else "what is shown"
    found = {
        value: rows
        for value, rows in shown.ends[shown.ends["chosen"]]
        .set_index(["where", "side"])
        .groupby("value")
    }
    facts = _facts(shown, found, on) if on.width == "page" else {}
    crowded = max(sum(place == where for place, side in on.rows if side) for where, _ in on.rows)
    log = (
        "V" in kinds
        or shown.score == "loss"
        or (shown.ends["mean"][shown.ends["value"] == "V"] > 0).any()
    )
    told = {
        "Rows: the end of training, the best first.": True,
        f"Each has its best {rates}, by {judged}.": shown.tuned,
        "Differences are to the reference, paired by seed.": len(shown.differences),
        "Workers: the mean of their own models.": "workers" in facts,
        "Rings: the chosen values.": "tuned" in kinds and shown.x in shown.tuned,
        "Dotted rings: at an end of what was tried.": "tuned" in kinds
        and ends["edge"][ends["chosen"]].any(),
        "Pale: other values of what else was tuned.": "tuned" in kinds and not ends["front"].all(),
        f"Curves: the best {CURVES}.": shown.score in kinds and crowded > CURVES,
        "Numbers at curves are those of rows.": shown.score in kinds and _numbered(on),
    }
    sentences = [sentence for sentence, true in told.items() if true]
    return [*sentences, *on.left_out, captions.classes(runs), *captions.seeds(runs, geometric=log)]


def table(shown: Plan) -> pd.DataFrame:
    """All cases as they are printed."""
    of, V = (shown.ends[shown.ends["value"] == value] for value in (shown.score, "V"))
    digits, head = (4, "Loss") if shown.score == "loss" else (2, "Accuracy, %")
    return pd.DataFrame(
        {
            **({"Where": of["where"]} if of["where"].nunique() > 1 else {}),
            "Case": of["side"],
            **{LABELS.get(name, name): dashed(of[name], "{:g}".format) for name in shown.tuned},
            head: [number(mean, digits) for mean in of["mean"]],
            "95 % interval": [
                bracketed(*ends, lambda x: number(x, digits)) for ends in zip(of["low"], of["high"])
            ],
            "V": dashed(V["mean"].set_axis(of.index), "{:.3g}".format),
            "Seeds": of["seeds"].astype(str),
            "Diverged": of["diverged"].astype(str).replace("0", ""),
            **({"Chosen": of["chosen"].map({True: "yes", False: ""})} if shown.tuned else {}),
        }
    )
