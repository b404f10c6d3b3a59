"""What the notebooks of figures and tables share: reading, panels, titles, legends, saving.

A notebook reads tidy tables with ``tidy``, draws in ``panels``, and ends with ``save``. Sentences
for captions and the styles of all figures are ``plots.captions`` and ``plots.style``.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWNBASE, CARETLEFTBASE, CARETRIGHTBASE, CARETUPBASE
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogFormatterSciNotation

from ngo.analysis.comparisons import sole_dataset
from ngo.common.files import atomic_file, found, write_text
from ngo.plots import captions, style
from ngo.plots.style import SMALL, TEXT_WIDTH
from ngo.printing import save_table
from ngo.training.tidy import read_tidy

#: One table, or several by name.
Tables = pd.DataFrame | Mapping[str, pd.DataFrame]

#: Letters of a caption per inch of a figure's width, and its lines per inch of the height.
LETTERS, LINES = 19, 8

#: The distance between the labels of two ticks, at least, as a share of the axis.
LABEL_ROOM = 0.14

#: Labels at an edge that are nearer than this, in inches, are stacked in one pile.
APART = 0.42

#: The most labels of a pile. More are replaced by their range.
STACKED = 3

#: A point at most this far outside the axes, as a share of their size, has no mark.
SLACK = 0.005

#: White around letters that lie over lines.
HALO = [withStroke(linewidth=2, foreground="white")]

#: The markers that end bars of intervals.
ENDS_OF_BARS = ("_", "|")

#: The id of what covers the bottom of a panel: marks of diverged runs.
COVER = "cover"

#: The id of lines whose points outside the axes are marked.
MARKED = "marked"

#: The key of the caption in the metadata of a PNG file.
DESCRIPTION = "Description"

#: The key of the share of a PNG file's height, at its bottom, that shows the caption.
CAPTION_SHARE = "Caption share"


@dataclass(frozen=True)
class Saved:
    """A saved figure, printed tables, or both. In a notebook, it displays all of them."""

    #: The PNG file of the figure.
    picture: Path | None
    tables: tuple[pd.DataFrame, ...]

    def _ipython_display_(self) -> None:
        from IPython.display import Image, display

        if self.picture:
            display(Image(self.picture.read_bytes()))
        for table in self.tables:
            display(table)


def tidy(given: str | Path | Sequence[str] | Tables) -> Any:
    """The tidy table in a file; those in several files, or in all that match a ``*``, by name.

    A table itself stays what it is.
    """
    if isinstance(given, pd.DataFrame | Mapping):
        return given
    if isinstance(given, str) and "*" in given:
        folder = found(Path(given).parent)
        given = sorted(map(str, folder.glob(Path(given).name)))
    if not isinstance(given, str | Path):
        return {Path(file).stem: tidy(file) for file in given}
    return read_tidy(found(given)).to_pandas(use_threads=False)


def save(
    name: str,
    numbers: Tables,
    figure: Figure | None = None,
    *,
    out: str | Path,
    notes: str | Iterable[str] = (),
    printed: Tables | None = None,
    caption: str | Mapping[str, str] = "",
    runs: Tables | Sequence[pd.DataFrame],
    stands_for: str | None = None,
    reference: str | Path | None = None,
) -> Saved:
    """Write ``OUT/figures/NAME.png`` (pdf, csv) and ``OUT/tables/NAME.csv`` (md, tex, html).

    ``out`` is the folder of a tier, and has its name. ``numbers`` are in full precision: one table,
    or one for each output by its name. ``printed`` has the texts of each table, in the same way.

    ``notes`` are printed below the figure, and ``caption`` above a table. Both end with a sentence
    that names the tier, and the data and settings of ``runs``, the tidy tables that were read. If
    ``runs`` maps names to tables, as for claims, it names the tier alone.

    ``stands_for`` is the data set that the paper used. The default is the only one in the file
    ``reference`` of the paper's numbers; without that, the one that each data set stands in for.
    """
    if stands_for is None and reference:
        stands_for = sole_dataset(reference)
    tier, out = Path(out).name, found(out)
    made_by = _made_by(tier, runs, stands_for)
    picture = None
    if figure is not None:
        below(figure, *([notes] if isinstance(notes, str) else notes), made_by)
        picture = save_figure(figure, out / "figures" / name, _of(numbers, name).assign(tier=tier))
    tables = printed if isinstance(printed, Mapping) else {name: printed}
    tables = {key: table for key, table in tables.items() if table is not None}
    for key, table in tables.items():
        shown, text = _of(numbers, key).assign(tier=tier), f"{_of(caption, key).strip()} {made_by}"
        save_table(shown, table, out / "tables" / key, text)
    return Saved(picture, tuple(tables.values()))


def _of(given: Any, name: str) -> Any:
    return given[name] if isinstance(given, Mapping) else given


def _made_by(tier: str, runs: Any, stands_for: str | None) -> str:
    if isinstance(runs, Mapping):
        return f"Tier {tier}."
    tables = [runs] if isinstance(runs, pd.DataFrame) else runs
    about = [table for table in tables if {"dataset", "seed"} <= set(table)]
    about = [table for table in about if "run" in table] or about
    if not about:
        return f"Tier {tier}; no data set."
    return captions.made_by(tier, pd.concat(about, ignore_index=True), stands_for)


def new_figure(height: float, width: float = TEXT_WIDTH) -> Figure:
    """An empty figure of this size in inches, in the style of all figures from now on.

    It is independent of pyplot and its backend.
    """
    mpl.rcParams.update(style.HOUSE)
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def panels(
    height: float, rows: int, columns: int, *, width: float = TEXT_WIDTH, **layout: Any
) -> tuple[Figure, np.ndarray]:
    """A figure of this size in inches, and its panels ``[rows, columns]``.

    ``layout`` are further arguments of ``Figure.subplots``.
    """
    figure = new_figure(height, width)
    return figure, figure.subplots(rows, columns, squeeze=False, **layout)


def save_figure(figure: Figure, stem: str | Path, shown: pd.DataFrame) -> Path:
    """Write ``stem``.png, .pdf and .csv, and return the path of the first.

    ``shown`` is the data in the figure. What is outside the axes of a panel is marked
    (``mark_outside``); an empty panel without a label is not shown. The caption is metadata of the
    PNG file. The files are the same bytes each time.
    """
    for axis in figure.axes:
        if not (axis.has_data() or axis.get_xlabel()):
            axis.set_axis_off()
        mark_outside(axis)
    caption = " ".join(figure.get_supxlabel().split()) or None
    about = {DESCRIPTION: caption, CAPTION_SHARE: _caption_share(figure)}
    undated = {"png": {"Software": None, **about}, "pdf": {"CreationDate": None}}
    for kind, metadata in undated.items():
        with atomic_file(f"{stem}.{kind}") as temporary:
            figure.savefig(temporary, metadata=metadata)
        figure.set_layout_engine("none")  # both files have the layout of the first
    write_text(f"{stem}.csv", shown.to_csv(index=False, lineterminator="\n"))
    return Path(f"{stem}.png")


def _caption_share(figure: Figure) -> str | None:
    """The share of the figure's height that the caption takes; None without one."""
    label = next((text for text in figure.texts if text.get_text() == figure.get_supxlabel()), None)
    engine = figure.get_layout_engine()
    if label is None or not label.get_text() or engine is None:
        return None
    inches = label.get_window_extent().height / figure.dpi + 1.5 * engine.get().get("h_pad", 0)
    return f"{inches / figure.get_figheight():.4f}"


def below(figure: Figure, *sentences: str) -> None:
    """Write ``sentences`` below the figure, which grows by them; empty ones are skipped."""
    text = " ".join(filter(None, sentences))
    text = text.replace(" = ", "\u00a0=\u00a0").replace(" %", "\u00a0%")  # stays on one line
    lines = textwrap.wrap(text, int(LETTERS * figure.get_figwidth()))
    figure.set_figheight(figure.get_figheight() + len(lines) / LINES)
    figure.supxlabel("\n".join(lines), fontsize=SMALL, color="0.35", x=0.01, ha="left")


def legend(figure: Figure, *axes: Axes) -> None:
    """One legend above the panels, with each label in ``axes`` once, in as many rows as needed."""
    labelled = {}
    pairs = [zip(*axis.get_legend_handles_labels(), strict=True) for axis in axes]
    for handle, label in filter(None, chain(*zip_longest(*pairs))):
        labelled.setdefault(label, handle)
    room = 72 / mpl.rcParams["font.size"] * figure.get_figwidth()  # in heights of a letter
    across = int(room / (6 + 0.55 * max(map(len, labelled))))
    figure.legend(
        labelled.values(),
        labelled,
        loc="outside upper center",
        ncols=-(-len(labelled) // -(-len(labelled) // across)),
        handlelength=3.2,
    )


def titles(axes: Iterable[Axes], *names: str) -> None:
    """A title for each panel, with its letter: ``(a) accuracy``. Without names, those it has."""
    axes = [*axes]
    names = names or [axis.get_title() for axis in axes]
    for letter, axis, name in zip(ascii_lowercase, axes, names, strict=False):
        axis.set_title(f"({letter}) {name}")


def value_ticks(
    axis: Axes, values: Iterable[float], base: float | None = None, room: float = LABEL_ROOM
) -> None:
    """Ticks of the x axis at ``values`` only; with a ``base``, the axis is logarithmic.

    The ends have a label, and so has every tick that is farther from other labels than ``room``, a
    share of the axis.
    """
    values = places = sorted(values)
    if base:
        axis.set_xscale("log", base=base)
        axis.set_xticks([], minor=True)
        places = [math.log(value) for value in values]
    shown = {*places[:1], *places[-1:]}
    room *= max(shown, default=0) - min(shown, default=0)
    for place in places[1:-1]:
        if min(abs(place - other) for other in shown) >= room:
            shown.add(place)
    pairs = zip(values, places, strict=True)
    axis.set_xticks(values, [f"{value:g}" if place in shown else "" for value, place in pairs])


def log_axis(axis: Axis) -> None:
    """A logarithmic axis with plain numbers; a short one has labels between the powers of ten.

    Zeros are not drawn.
    """
    getattr(axis.axes, f"set_{axis.axis_name}scale")("log", nonpositive="mask")
    powers = LogFormatterSciNotation()

    def between(value: float, _: int) -> str:
        low, high = axis.get_view_interval()
        digits = "123456789" if high < 4 * low else "25" if high < 60 * low else ""
        return number(value) if f"{value:e}"[0] in digits else ""

    def number(value: float, _: int = 0) -> str:
        return f"{value:g}" if 1e-3 <= value < 1e4 else powers(value)

    axis.set_major_formatter(number)
    axis.set_minor_formatter(between)


#: A mark at an edge: its place along it as a share, the value, and the line that has the point.
Mark = tuple[float, float, Line2D]


def mark_outside(axis: Axes) -> None:
    """Mark each drawn point outside the axes with a triangle at the edge and its value.

    Where a curve has no marker at each point, each part of it outside gets one mark, at the point
    farthest out. A mark is hollow if its marker is. No mark is made for values that a log axis
    can't show, and for lines across the panel.
    """
    axis.set(xlim=axis.get_xlim(), ylim=axis.get_ylim())
    covers = [patch for patch in axis.patches if patch.get_gid() == COVER]
    low = (0, covers[0].get_height() if covers else 0)
    scales = np.array([axis.get_xscale(), axis.get_yscale()])
    edges: dict[tuple[int, int], list[Mark]] = {}
    for line in axis.lines:
        of_panel = line.get_transform() != axis.transData
        if of_panel or line.get_marker() in ENDS_OF_BARS or line.get_gid() == MARKED:
            continue
        line.set_gid(MARKED)
        data = np.array(line.get_xydata(), float)
        data = data[(np.isfinite(data) & ((data > 0) | (scales != "log"))).all(axis=1)]
        places = (axis.transData - axis.transAxes).transform(data)
        across = np.abs(places[:, 0] - 0.5) <= 0.5 + SLACK
        points = line.get_markevery() is None and line.get_marker() not in (None, "None", "")
        for k, side in ((0, 0), (0, 1), (1, 0), (1, 1)):
            beyond = places[:, k] - 1 if side else low[k] - places[:, k]
            out = np.flatnonzero((beyond > SLACK) & (across | (k == 0)))
            cuts = np.arange(1, len(out)) if points else np.flatnonzero(np.diff(out) > 1) + 1
            for part in filter(len, np.split(out, cuts)):
                farthest = part[beyond[part].argmax()]
                mark = places[farthest, 1 - k].clip(0, 1), data[farthest, k], line
                edges.setdefault((k, side), []).append(mark)
    for (k, side), marks in edges.items():
        _mark_edge(axis, k, side, side or low[k], marks)


def _mark_edge(axis: Axes, k: int, side: int, at: float, marks: list[Mark]) -> None:
    """Triangles and numbers at an edge of x (``k`` is 0) or y (1), which lies at ``at``."""
    shape = ((CARETLEFTBASE, CARETRIGHTBASE), (CARETDOWNBASE, CARETUPBASE))[k][side]
    for place, _, line in marks:
        look = {"c": line.get_markeredgecolor(), "markerfacecolor": line.get_markerfacecolor()}
        look |= {"transform": axis.transAxes, "marker": shape, "markersize": 4, "zorder": 3}
        axis.plot(*((place, at) if k else (at, place)), **look, clip_on=False)
    for pile in piles(axis, marks):
        place, values = pile[0][0], sorted(value for _, value, _ in pile)
        numbers = {short(value): line.get_markeredgecolor() for _, value, line in pile}
        if len(numbers) > STACKED:
            lines = [short(values[0]), f"to {short(values[-1])}"][:: 1 if side else -1]
            numbers = dict.fromkeys(lines, "0.3")  # from the edge on
        inwards = -1 if side else 1
        near = int(place > 0.85) - int(place < 0.15) if k else -inwards  # which end it is at
        for row, (text, colour) in enumerate(numbers.items()):
            axis.annotate(
                text,
                (place, at) if k else (at, place),
                (0, inwards * (4 + SMALL * row)) if k else (4 * inwards, SMALL * row),
                xycoords="axes fraction",
                textcoords="offset points",
                ha=("left", "center", "right")[near + 1],
                va=("top" if side else "bottom") if k else "center",
                color=colour,
                path_effects=HALO,
                in_layout=False,
            )


def piles(axis: Axes, marks: Iterable[tuple], apart: float = APART) -> list[list[tuple]]:
    """Marks, which begin with their places along an axis, in order, in groups of near ones."""
    apart *= axis.get_figure(root=True).dpi / axis.bbox.width
    groups: list[list[tuple]] = []
    for mark in sorted(marks, key=lambda mark: mark[:2]):
        if not groups or mark[0] - groups[-1][-1][0] > apart:
            groups.append([])
        groups[-1].append(mark)
    return groups


def short(value: float) -> str:
    """A number with three digits, or a power of ten: ``−45.3``, ``5310``, ``6e43``."""
    if value and not 1e-3 <= abs(value) < 1e5:
        digit, power = f"{value:.0e}".split("e")
        return f"{digit}e{int(power)}".replace("-", "−")
    return f"{float(f'{value:.3g}'):g}".replace("-", "−")


def share_limits(*axes: Axes) -> None:
    """Give all ``axes`` the same y limits, wide enough for each."""
    lows, highs = zip(*(axis.get_ylim() for axis in axes), strict=True)
    for axis in axes:
        axis.set_ylim(min(lows), max(highs))
