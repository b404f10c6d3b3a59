"""The style of all figures: safe for colour-blind readers, legible in black and white."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from cycler import cycler
from matplotlib import colormaps
from matplotlib.colors import to_hex

#: Okabe and Ito's palette. Line styles and markers make the same distinctions without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

LINES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P")

#: The width of the paper's text block in inches.
TEXT_WIDTH = 6.75

#: The sizes of letters in points: of titles and labels of axes, and of all others.
LARGE, SMALL = 8, 7


@dataclass(frozen=True)
class Style:
    """The look of one case, the same in every figure."""

    label: str
    colour: str
    line: str | tuple
    marker: str

    @property
    def marks(self) -> dict[str, str]:
        """Arguments of ``Axes.plot`` for markers without a line."""
        look = {"color": self.colour, "marker": self.marker}
        return {**look, "linestyle": "none", "label": self.label}

    def named(self, label: str) -> Style:
        """The same look with another label."""
        return replace(self, label=label)

    def variant(self, k: int, label: str) -> Style:
        """The same colour with another label, and the k-th line and marker."""
        return replace(kth_style(k, label), colour=self.colour)


METHOD_STYLES = {
    "centralized": Style("centralized", "#000000", "-.", "D"),
    "gossip": Style("gossip", COLOURS[0], "--", "s"),
    "ngo": Style("NGO", COLOURS[1], "-", "o"),
    "local_sgd": Style("local SGD", COLOURS[2], ":", "^"),
    "delayed": Style("delayed", COLOURS[3], (0, (5, 1, 1, 1, 1, 1)), "v"),
}


def kth_style(k: int, label: str) -> Style:
    """The k-th style, for cases other than the paper's methods."""
    pick = [values[k % len(values)] for values in (COLOURS, LINES, MARKERS)]
    return Style(label, *pick)


def scale_styles(labels: Sequence[str]) -> list[Style]:
    """Styles for values of a number, from small to large: colours from dark to light."""
    shades = colormaps["viridis"](np.linspace(0, 0.82, len(labels)))
    return [
        Style(label, to_hex(shade), "-", MARKERS[k % len(MARKERS)])
        for k, (label, shade) in enumerate(zip(labels, shades, strict=True))
    ]


#: Matplotlib's settings.
HOUSE = {
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.labelsize": LARGE,
    "axes.titlesize": LARGE,
    "figure.constrained_layout.use": True,
    "font.size": SMALL,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
}


def case_styles(cases: pd.DataFrame) -> dict[str, Style]:
    """The style of each case: a colour for the algorithm, a line and a marker for the topology."""
    runs = cases.drop_duplicates("case").fillna({"topology": ""}).sort_values("case")
    graphs = sorted(runs["topology"].unique(), key=lambda name: (name != "ring", name))
    runs["algorithm"] = [
        case.removesuffix(graph.replace("_", " ")).rstrip(", ")
        for case, graph in zip(runs["case"], runs["topology"], strict=True)
    ]
    others = sorted(set(runs["algorithm"]) - {"centralized", "linear", "NGO"})
    algorithms = ["linear", "NGO", *others]
    looks = {}
    for run in runs.itertuples():
        if run.algorithm == "centralized":
            looks[run.case] = METHOD_STYLES["centralized"]
            continue
        again, place = divmod(algorithms.index(run.algorithm), len(COLOURS))
        algorithm = kth_style(place, run.algorithm)
        looks[run.case] = algorithm.variant(graphs.index(run.topology) + again, run.case)
    return looks
