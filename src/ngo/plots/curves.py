"""What panels show: means over seeds, a scatter of runs, consensus by round, mosaics of images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count, cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from ngo.analysis.comparisons import TOPOLOGY_ORDER
from ngo.analysis.consensus import in_columns
from ngo.analysis.seed_means import GEOMETRIC, on_log_axis
from ngo.plots import COVER, HALO, log_axis, piles
from ngo.plots.captions import span
from ngo.plots.style import COLOURS, METHOD_STYLES, WORDS, Style, kth_style

# Means over seeds with intervals, as curves or markers; diverged runs are marked.

PERCENT = ("accuracy", "best")
DIFFERENCES = ("difference", "gain")

LABELS: dict[str, str] = WORDS["labels"]

#: The powers of ten that a log axis shows at most: what is far below is of no interest.
DECADES = 6

#: The height of a row of marks of diverged runs, and of all rows at most, as shares of a panel's.
ROW, ROWS = 0.06, 0.3

#: What is drawn: rows of ``seed_means.points`` with the style of each case.
Cases = list[tuple[Style, pd.DataFrame]]


def by_method(
    table: pd.DataFrame, column: str = "method", known: Mapping[str, Style] = METHOD_STYLES
) -> Cases:
    """The rows of each method with its style; those that are ``known`` come first.

    ``column`` has the names.
    """
    others = sorted(set(table[column]) - set(known))
    looks = {**known, **{name: kth_style(k, name) for k, name in enumerate(others, len(known))}}
    cases = [(look, table[table[column] == name]) for name, look in looks.items()]
    return [(look, rows) for look, rows in cases if len(rows)]


def variants(cases: Cases, column: str, label: str, first: Sequence[str] = ()) -> Cases:
    """The rows of each case and value of ``column``; the value has a line and a marker.

    The colour is the case's. ``label`` is ``{}, {}``, for the names of both. The values in
    ``first`` come first, whether they have rows or not. Centralized learning keeps its style.
    """
    others = set(pd.concat([rows[column] for _, rows in cases]).dropna()) - set(first)
    styled: Cases = []
    for look, rows in cases:
        names = enumerate([*first, *sorted(others)])
        looks = {value: look.variant(k, label.format(look.label, value)) for k, value in names}
        central = look == METHOD_STYLES["centralized"]
        styled += [(look, rows)] if central else by_method(rows, column, looks)
    return styled


def beside(cases: Cases, x: str) -> Cases:
    """The cases with markers that stand side by side on a logarithmic axis of ``x``."""
    steps = zip(count((1 - len(cases)) / 2), cases)
    return [(look, rows.assign(**{x: rows[x] * 1.05**k})) for k, (look, rows) in steps]


def having(y: str, cases: Cases) -> Cases:
    """The cases with a value of ``y``: of V, all but centralized learning, whose V is 0."""
    no_V = METHOD_STYLES["centralized"] if y in ("V", "V_mean") else None
    return [case for case in cases if case[0] != no_V]


def lines(axis: Axes, cases: Cases, x: str, y: str, **labels: str) -> None:
    """Draw each case's means of ``y`` against ``x`` as a line, and the intervals as a band.

    After runs of a case have diverged, the line of the remaining ones is thin, and a × below
    marks the point. Centralized learning has no V, and is not drawn there. ``labels`` are the
    panel's title and the labels of its axes (arguments of ``Axes.set``).
    """
    axis.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    _draw(axis, cases, x, y, band)
    axis.set(**labels)


def dots(axis: Axes, cases: Cases, x: str, y: str, levels: Cases = (), **labels: str) -> None:
    """Draw the means at a few values of ``x``: markers with bars, hollow if runs have diverged.

    ``levels`` do not depend on ``x``: one row for ``y`` each, drawn as a line across. Centralized
    learning has no V, and is not drawn there. A difference has a line at 0. ``labels`` are as in
    ``lines``.
    """
    levels = having(y, levels)
    for style, rows in levels:
        for row in rows[rows["value"] == y].to_dict("records"):
            axis.axhline(row["mean"], color=style.colour, ls=style.line, lw=1, label=style.label)
            if np.isfinite(row["low"]):
                axis.axhspan(row["low"], row["high"], color=style.colour, alpha=0.12, lw=0)
    axis.margins(x=0.08)
    _draw(axis, cases, x, y, error_bars, levels)
    axis.set(xlim=axis.get_xlim(), **labels)
    if y == "difference":
        axis.axhline(0, color="0.6", lw=0.6, zorder=0)


def _draw(
    axis: Axes, cases: Cases, x: str, y: str, mark: Callable[..., None], levels: Cases = ()
) -> None:
    axis.set_ylabel(LABELS[y])
    if y in GEOMETRIC:
        log_axis(axis.yaxis)
    cases = having(y, cases)
    lost = []
    for style, rows in cases:
        rows = rows[rows["value"] == y].sort_values(x)
        mark(axis, rows, x, style)
        more = rows["diverged"].diff().fillna(rows["diverged"])
        new = rows[(more if mark is band else rows["diverged"]) > 0]
        lost += [(style, new)] if len(new) else []
    everything = pd.concat([rows for _, rows in [*cases, *levels]])
    everything = everything[everything["value"] == y]
    if mark is band and (later := everything[x] > 0).any():
        everything = everything[later]  # the start, equal for all, may lie outside
    fit(axis, everything, room=min(ROW * len(lost), ROWS) + ROW if lost else 0)
    if lost:
        _mark_diverged(axis, lost, x)


def band(axis: Axes, rows: pd.DataFrame, x: str, style: Style) -> None:
    """Draw the column ``mean`` of ``rows`` as a line; thin after runs have diverged."""
    look = {"color": style.colour, "linestyle": style.line, "marker": style.marker}
    look |= {"markevery": max(1, len(rows) // 6)}
    whole, left = rows[rows["diverged"] == 0], rows[rows["diverged"] > 0]
    axis.plot(whole[x], whole["mean"], **look, label=style.label, markersize=3, lw=1.2)
    faint = {"color": style.colour, "alpha": 0.15, "linewidth": 0}
    axis.fill_between(whole[x], whole["low"], whole["high"], **faint)
    if len(left):
        hollow = {"markerfacecolor": "white", "markersize": 3, "lw": 0.5}
        axis.plot(left[x], left["mean"], **look, **hollow)


def error_bars(axis: Axes, rows: pd.DataFrame, x: str, style: Style, **look: Any) -> None:
    """Draw the column ``mean`` of ``rows`` against ``x``, with bars from ``low`` to ``high``.

    Markers are hollow where ``diverged`` is above 0. ``look`` are arguments of ``Axes.errorbar``.
    """
    ends = [rows["mean"] - rows["low"], rows["high"] - rows["mean"]]
    line = style.line if rows[x].nunique() > 2 else "none"  # two points are no trend
    given = {"color": style.colour, "linestyle": line, "marker": style.marker}
    sizes = {"markersize": 4, "linewidth": 1, "elinewidth": 0.8, "capsize": 2}
    bars = axis.errorbar(rows[x], rows["mean"], ends, label=style.label, **given | sizes | look)
    if "diverged" in rows:
        some = rows[rows["diverged"] > 0]
        hollow = {"markeredgecolor": style.colour, "markerfacecolor": "white", "markersize": 4}
        axis.plot(some[x], some["mean"], style.marker, **hollow, zorder=3)
        # no line leads to what is left of diverged runs
        bars.lines[0].set_ydata(rows["mean"].where(rows["diverged"] == 0))


def in_rows(
    axis: Axes, rows: pd.DataFrame, column: str, names: Sequence[str], style: Style, **look: Any
) -> None:
    """Draw means with intervals in lines, one for each of ``names``, the values of ``column``.

    ``look`` are arguments of ``Axes.errorbar``; ``shift`` moves the markers down by a share of a
    line.
    """
    places = np.array([names.index(name) for name in rows[column]]) + look.pop("shift", 0.0)
    ends = np.nan_to_num([rows["mean"] - rows["low"], rows["high"] - rows["mean"]])
    sizes = {"markersize": 4, "elinewidth": 0.8}
    axis.errorbar(rows["mean"], places, xerr=ends, **style.marks | sizes | look)
    axis.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.grid(axis="y", color="0.92")


def fit(axis: Axes, rows: pd.DataFrame, room: float, decades: int = DECADES) -> None:
    """Set limits around the means and their intervals.

    Percentages stay between 0 and 100; differences include 0; a log axis covers at most so many
    ``decades``. Where some runs have diverged, the intervals of the others are ignored, and on a
    log axis their means too. ``room`` is the share of the height that stays free at the bottom.
    """
    log = axis.get_yscale() == "log"
    ends = rows[["mean", "low", "high"]].copy()
    if (rows["diverged"] == 0).any():
        ends.loc[rows["diverged"] > 0, ["low", "high", *(["mean"] if log else [])]] = np.nan
    ends = np.log10(ends.where(ends > 0)) if log else ends
    bottom, top = ends.min(axis=None), ends.max(axis=None)
    if log:
        bottom = max(bottom, top - decades)
    if np.isfinite(top - bottom):
        if rows["value"].isin(DIFFERENCES).any():
            bottom, top = min(bottom, 0), max(top, 0)
        margin = 0.06 * (top - bottom) or 0.5
        limits = np.array([bottom - margin, top + margin])
        if rows["value"].isin(PERCENT).any():
            limits = limits.clip(-2, 102)
            axis.yaxis.set_major_formatter(lambda share, _: f"{share:g}" if share >= 0 else "")
        limits[0] -= room / (1 - room) * (limits[1] - limits[0])
        axis.set_ylim(10**limits if log else limits)


def _mark_diverged(axis: Axes, lost: Cases, x: str) -> None:
    """Mark with a × at the bottom each point of ``lost``, where runs diverged: a row for each case.

    A × is bold where all runs diverged. The number that did is printed beside it; marks close to
    each other share one text, with the range of their numbers.
    """
    place, height = axis.get_xaxis_transform(), min(ROW, ROWS / len(lost))
    for k, (style, rows) in enumerate(lost):
        for whole, points in rows.groupby(rows["seeds"] == 0):
            look = {"color": style.colour, "markersize": 4, "mew": 1.6 if whole else 0.7}
            y = [height * (k + 0.5)] * len(points)
            axis.plot(points[x], y, "x", **look, transform=place, zorder=3)
    axis.set_xlim(axis.get_xlim())
    for k, (style, rows) in enumerate(lost):
        places = (axis.transData - axis.transAxes).transform([(left, 1) for left in rows[x]])[:, 0]
        counts = rows["diverged"].astype(int), (rows["diverged"] + rows["seeds"]).astype(int)
        several = piles(axis, zip(places, *counts, strict=True))
        for pile in several:
            _, *numbers = zip(*pile, strict=True)
            counts = " of ".join(span(pd.Series(number)) for number in numbers)
            before = len(several) == 1 and pile[-1][0] > 0.7  # there is more room
            end = (pile[0] if before else pile[-1])[0], height * (k + 0.5)
            where = {"xycoords": axis.transAxes, "textcoords": "offset points", "va": "center"}
            where |= {"ha": "right", "xytext": (-3, 0)} if before else {"xytext": (3, 0)}
            axis.annotate(counts, end, color=style.colour, zorder=3, path_effects=HALO, **where)
    top = height * len(lost) + ROW
    look = {"transform": axis.transAxes, "color": "white", "zorder": 2.4, "gid": COVER}
    axis.add_patch(Rectangle((0, 0), 1, top, **look))
    axis.text(0.01, top - ROW / 2, "× diverged", transform=axis.transAxes, va="center")


# A table as coloured cells.


def heat_map(
    axis: Axes, values: pd.DataFrame, texts: np.ndarray, framed: np.ndarray, **colours: Any
) -> AxesImage:
    """Draw ``values`` as coloured cells, with ``texts`` in them and frames where ``framed``.

    NaN is white. ``colours`` are arguments of ``Axes.imshow``.
    """
    image = axis.imshow(values.to_numpy(float), aspect="auto", **colours)
    shades = image.to_rgba(image.get_array())[..., :3].mean(axis=2)
    for (row, column), text in np.ndenumerate(texts):
        dark = shades[row, column] < 0.5 and not np.ma.is_masked(image.get_array()[row, column])
        look = {"color": "white" if dark else "black", "ha": "center", "va": "center"}
        axis.text(column, row, text, **look, linespacing=0.9)
        if framed[row, column]:
            axis.add_patch(Rectangle((column - 0.47, row - 0.46), 0.94, 0.92, fill=False, lw=1.4))
    axis.set_xticks(range(values.shape[1]), values.columns)
    axis.set_yticks(range(values.shape[0]), values.index)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    return image


# A panel of V against a score with a marker for each run.

#: The filling of a marker shows the topology; colour and shape show the method.
FILLS = ("none", "left", "full", "right", "top", "bottom")

#: The distance of the inner fences from the quartiles, in interquartile ranges (Tukey 1977).
FENCE = 1.5


def scatter(
    axis: Axes, rows: pd.DataFrame, y: str = "accuracy", pale: pd.Series | None = None
) -> None:
    """Draw ``y`` against V of the runs in ``rows``, and state above how many diverged.

    ``pale`` says which runs have smaller, paler markers. A run far from most others is outside the
    axes.
    """
    log_axis(axis.xaxis)
    shown = on_log_axis(rows, y)
    given = rows.assign(V=np.log10(rows["V"].where(shown)))[["V", y]].where(shown)
    topologies = [*TOPOLOGY_ORDER, *sorted(set(rows["topology"]) - set(TOPOLOGY_ORDER))]
    for topology, fill in zip(topologies, cycle(FILLS), strict=False):
        for style, part in by_method(rows[rows["topology"] == topology]):
            part = part[shown.loc[part.index]]
            marks = style.named(f"{style.label}, {topology}").marks
            look = {"fillstyle": fill, "markerfacecoloralt": "white"}
            apart = pale.loc[part.index] if pale is not None else part["V"].isna()
            first, other = part[~apart], part[apart]
            axis.plot(first["V"], first[y], **marks, **look, markersize=5)
            if len(other):
                small = {"markersize": 3, "alpha": 0.5, "label": None}
                axis.plot(other["V"], other[y], **marks | look | small)
    axis.set(xlabel=LABELS["V"], ylabel=LABELS[{"loss": "test_loss"}.get(y, y)])
    near = given.apply(clipped).agg(["min", "max"])
    near += 0.05 * np.outer([-1, 1], near.loc["max"] - near.loc["min"])
    if np.isfinite(near).all(axis=None) and (near.loc["max"] > near.loc["min"]).all():
        axis.set(xlim=10 ** near["V"], ylim=near[y])
    if lost := int((~shown).sum()):
        bottom, top = axis.get_ylim()
        axis.set_ylim(bottom, top + 0.1 * (top - bottom))
        text = f"× {lost} of {len(rows)} diverged"
        axis.text(0.5, 0.99, text, transform=axis.transAxes, ha="center", va="top")


def clipped(values: pd.Series) -> pd.Series:
    """``values``, with those beyond Tukey's inner fences, 1.5 interquartile ranges, at these."""
    low, high = values.quantile([0.25, 0.75])
    return values.clip(low - FENCE * (high - low), high + FENCE * (high - low))


# Consensus without learning: the workers' states, and V, by round.


def draw_states(axis: Axes, states: pd.DataFrame, look: Style) -> None:
    """A line for each worker's state; ``states`` are those of ``consensus.courses``."""
    axis.plot(states["round"], states.filter(regex=r"^x\d+$"), color=look.colour, linewidth=0.8)
    axis.set(xlabel="round")


def draw_index(axis: Axes, states: pd.DataFrame, mark: float, look: Style) -> None:
    """V as a line, with a dot at the round ``mark`` unless that is NaN."""
    line = {"color": look.colour, "ls": look.line, "lw": 1.2, "label": look.label}
    axis.plot(states["round"], states["V"], **line)
    marked = states[states["round"] == mark]
    axis.plot(marked["round"], marked["V"], "o", color=look.colour, markersize=4)
    axis.set(xlabel="round", yscale="log")


def coupling_style(p: float) -> Style:
    """``sublinear``, in NGO's colour; ``linear``, in gossip's; or ``superlinear``."""
    if p <= 1:
        name, method = ("sublinear", "ngo") if p < 1 else ("linear", "gossip")
        return METHOD_STYLES[method].named(name)
    return Style("superlinear", COLOURS[2], ":", "^")


# Mosaics of images: originals, reconstructions, and generations on each worker.


def images(samples: pd.DataFrame, kind: str, worker: int) -> np.ndarray:
    """The images of a kind and a model, uint8 ``[images, height, width, channels]``.

    ``samples`` are ``pixel_rows`` of images of one shape.
    """
    axes = ["image", "channel", "row"]
    rows = samples[(samples["kind"] == kind) & (samples["worker"] == worker)].sort_values(axes)
    pixels = rows.filter(regex=r"^x\d+$").dropna(axis=1).to_numpy(np.uint8)
    return pixels.reshape(*(rows[axes].max() + 1), -1).transpose(0, 2, 3, 1)


def draw_generations(axis: Axes, samples: pd.DataFrame, rows: int) -> None:
    """Draw the images generated from the first ``rows`` codes (rows) by each worker (columns)."""
    workers = int(samples["worker"].max()) + 1
    columns = np.stack([images(samples, "generation", worker) for worker in range(workers)], 1)
    draw_mosaic(axis, list(columns[:rows]))
    size = columns.shape[3] + 1
    axis.set_xticks(size * (np.arange(workers) + 0.5), range(workers))
    axis.set(xlabel="worker")


def draw_mosaic(axis: Axes, rows: list[np.ndarray]) -> None:
    """Draw rows of images ``[images, height, width, channels]``, separated by white lines."""
    most = max(map(len, rows))
    lines = [((0, most - len(row)), (0, 1), (0, 1), (0, 0)) for row in rows]
    white = [np.pad(row, at, constant_values=255) for row, at in zip(rows, lines, strict=True)]
    canvas = np.concatenate([np.concatenate([*row], axis=1) for row in white])[:-1, :-1]
    grey = canvas.shape[2] == 1
    axis.imshow(canvas[..., 0] if grey else canvas, cmap="gray", vmin=0, vmax=255)
    axis.set(xticks=[], yticks=[])
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


def pixel_rows(table: pd.DataFrame) -> pd.DataFrame:
    """``samples.samples_table`` with one table row per row of pixels: columns x0, x1, …

    Runs stay in their order.
    """
    rows = in_columns(table, "column", "value")
    order = list(table["run"].unique())
    return rows.sort_values("run", key=lambda runs: runs.map(order.index), kind="stable")
