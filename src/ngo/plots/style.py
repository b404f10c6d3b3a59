"""The style of all figures: safe for colour-blind readers, legible in black and white."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from matplotlib import colormaps, rc_params_from_file
from matplotlib.colors import to_hex

from verdicts.files import read_mapping

#: Matplotlib's settings, in a file of the form of its styles.
HOUSE = rc_params_from_file(Path(__file__).with_name("house.mplstyle"), use_default_template=False)

#: Line styles and markers make the same distinctions without colour.
COLOURS = tuple(HOUSE["axes.prop_cycle"].by_key()["color"])

#: The words at axes and in titles.
WORDS = read_mapping(Path(__file__).with_name("words.yaml"), "words")

LINES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P")

#: The width of the paper's text block in inches.
TEXT_WIDTH = 6.75

#: The sizes of letters in points: of titles and labels of axes, and of all others.
LARGE, SMALL = HOUSE["axes.labelsize"], HOUSE["font.size"]


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


def styles(names: Sequence[str]) -> dict[str, Style]:
    """The look of each case: a colour for the first word of its name, a line and a marker for all.

    Methods of the paper keep theirs. Where the first words are the same, names have the colours.
    """
    names = list(dict.fromkeys(names))
    firsts = [name.partition(", ")[0] for name in names]
    firsts = firsts if len({*firsts}) > 1 else names
    known = {look.label: look for look in METHOD_STYLES.values() if look.label in firsts}
    colours = [one for one in COLOURS if one not in {look.colour for look in known.values()}]
    others = list(dict.fromkeys(first for first in firsts if first not in known))
    looks = {}
    for place, (name, first) in enumerate(zip(names, firsts, strict=True)):
        k = others.index(first) if first in others else 0
        own = replace(kth_style(k + 2, name), colour=colours[k % len(colours)])
        look, again = known.get(first, own), firsts[:place].count(first)
        looks[name] = look.variant(k + again + 1, name) if again else look.named(name)
    return looks
