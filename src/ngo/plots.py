"""The style of the figures: colour-blind safe, legible in black and white, the same each time.

A figure is saved as PNG, PDF and the CSV of what it shows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from pathlib import Path
from string import ascii_lowercase

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterMathtext

from ngo.files import whole_file

# Okabe and Ito's colours, told apart by people with any common colour blindness; line styles and
# markers carry the same distinction without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LINES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P")

TEXT_WIDTH = 6.75  # inches: the width of the paper's text block

# Letters of a caption to an inch of a figure's width.
LETTERS = 21


@dataclass(frozen=True)
class Style:
    """How one case is drawn, in every figure."""

    label: str
    colour: str
    line: str | tuple
    marker: str

    def named(self, label: str) -> Style:
        """The same with another label."""
        return replace(self, label=label)


PROTOCOL_STYLES = {
    "centralized": Style("centralized", "#000000", "-.", "D"),
    "gossip": Style("gossip", COLOURS[0], "--", "s"),
    "ngo": Style("NGO", COLOURS[1], "-", "o"),
    "local_sgd": Style("local SGD", COLOURS[2], ":", "^"),
    "delayed": Style("delayed", COLOURS[3], (0, (5, 1, 1, 1, 1, 1)), "v"),
}


def style(k: int, label: str) -> Style:
    """The k-th style of cases that are no protocols."""
    pick = [values[k % len(values)] for values in (COLOURS, LINES, MARKERS)]
    return Style(label, *pick)


def house_style() -> None:
    """The style of every figure; a notebook calls it first."""
    plt.rcParams.update(
        {
            "axes.prop_cycle": plt.cycler(color=COLOURS),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlesize": "medium",
            "figure.constrained_layout.use": True,
            "font.size": 8,
            "legend.frameon": False,
            "pdf.fonttype": 42,
            "savefig.dpi": 200,
        }
    )


def save_figure(figure: Figure, stem: str | Path, shown: pd.DataFrame) -> None:
    """Write ``stem``.png, .pdf and .csv; ``shown`` is the data in the figure."""
    undated = {"png": {"Software": None}, "pdf": {"CreationDate": None}}
    for kind, metadata in undated.items():
        with whole_file(f"{stem}.{kind}") as temporary:
            figure.savefig(temporary, metadata=metadata)
        figure.set_layout_engine("none")  # the layout is made once, for both
    with whole_file(f"{stem}.csv") as temporary:
        shown.to_csv(temporary, index=False, lineterminator="\n")
    plt.close(figure)


def caption(figure: Figure, *sentences: str) -> None:
    """Small lines under the figure: what it shows, what made it. Empty sentences are left out."""
    text = " ".join(filter(None, sentences))
    lines = textwrap.fill(text, int(LETTERS * figure.get_figwidth()))
    figure.supxlabel(lines, fontsize="x-small", color="0.35", x=0.01, ha="left")


def legend(figure: Figure, *axes: Axes) -> None:
    """One legend above the panels: each label in ``axes`` once, in as many rows as it takes."""
    labelled = {}
    pairs = [zip(*axis.get_legend_handles_labels(), strict=True) for axis in axes]
    for handle, label in filter(None, chain(*zip_longest(*pairs))):
        labelled.setdefault(label, handle)
    room = 72 / plt.rcParams["font.size"] * figure.get_figwidth()  # in letters' heights
    across = int(room / (6 + 0.55 * max(map(len, labelled))))
    figure.legend(
        labelled.values(),
        labelled,
        loc="outside upper center",
        ncols=-(-len(labelled) // -(-len(labelled) // across)),
        handlelength=3.2,
    )


def titles(axes: Iterable[Axes], *names: str) -> None:
    """A title for each panel, with its letter: ``(a) accuracy``."""
    for letter, axis, name in zip(ascii_lowercase, axes, names, strict=False):
        axis.set_title(f"({letter}) {name}")


def value_ticks(axis: Axes, values: Iterable[float], base: float = 10) -> None:
    """A logarithmic x axis with a tick for each of ``values`` and no others."""
    axis.set_xscale("log", base=base)
    axis.set_xticks(list(values), [f"{value:g}" for value in values])
    axis.set_xticks([], minor=True)


def log_axis(axis: Axis) -> None:
    """A logarithmic axis with plain numbers, and some between the powers of ten if it is short.

    What is 0 is not drawn.
    """
    owner = axis.axes
    setter = owner.set_xscale if axis is owner.xaxis else owner.set_yscale
    setter("log", nonpositive="mask")
    powers = LogFormatterMathtext()

    def between(value: float, _: int) -> str:
        low, high = axis.get_view_interval()
        digits = "23456789" if high < 4 * low else "25" if high < 60 * low else ""
        return number(value) if f"{value:e}"[0] in digits else ""

    def number(value: float, _: int = 0) -> str:
        return f"{value:g}" if 1e-3 <= value < 1e5 else powers(value)

    axis.set_major_formatter(number)
    axis.set_minor_formatter(between)


def share_limits(*axes: Axes) -> None:
    """The same y axis for all: one that holds what each shows."""
    lows, highs = zip(*(axis.get_ylim() for axis in axes), strict=True)
    for axis in axes:
        axis.set_ylim(min(lows), max(highs))
