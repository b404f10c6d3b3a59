"""A panel of V against a score with a marker for each run, told apart by method and topology."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ngo.analysis.correlations import on_log_axis
from ngo.analysis.row_order import TOPOLOGY_ORDER
from ngo.plots import log_axis
from ngo.plots.curve_panels import LABELS, by_method

FILLS = ("none", "left", "full", "right", "top", "bottom")
"""The filling of a marker shows the topology; colour and shape show the method."""

FENCE = 3
"""The distance of the outer fences from the quartiles, in interquartile ranges (Tukey 1977)."""


def scatter(
    axis: Axes, rows: pd.DataFrame, y: str = "accuracy", pale: pd.Series | None = None
) -> None:
    """Draw ``y`` against V of the runs in ``rows``, and state above how many diverged.

    ``pale`` says which runs have smaller, paler markers. A run far from most others stands at the
    edge.
    """
    log_axis(axis.xaxis)
    drawn = rows[on_log_axis(rows, y)]
    at_edge = {"V": 10 ** np.log10(drawn["V"]).pipe(_clipped), y: _clipped(drawn[y])}
    rows = rows.assign(**{name: values.reindex(rows.index) for name, values in at_edge.items()})
    topologies = [*TOPOLOGY_ORDER, *sorted(set(rows["topology"]) - set(TOPOLOGY_ORDER))]
    for topology, fill in zip(topologies, cycle(FILLS), strict=False):
        for style, part in by_method(rows[rows["topology"] == topology]):
            part = part[on_log_axis(part, y)]
            marks = style.named(f"{style.label}, {topology}").marks
            look = {"fillstyle": fill, "markerfacecoloralt": "white"}
            apart = pale.loc[part.index] if pale is not None else part["V"].isna()
            first, other = part[~apart], part[apart]
            axis.plot(first["V"], first[y], **marks, **look, markersize=5)
            if len(other):
                small = {"markersize": 3, "alpha": 0.5, "label": None}
                axis.plot(other["V"], other[y], **marks | look | small)
    axis.set(xlabel=LABELS["V"], ylabel=LABELS[{"loss": "test_loss"}.get(y, y)])
    if lost := len(rows) - len(drawn):
        bottom, top = axis.get_ylim()
        axis.set_ylim(bottom, top + 0.1 * (top - bottom))
        told = f"× {lost} of {len(rows)} diverged"
        axis.text(0.5, 0.99, told, transform=axis.transAxes, ha="center", va="top")


def _clipped(values: pd.Series) -> pd.Series:
    """``values``, with those beyond Tukey's outer fences, three interquartile ranges, at these."""
    low, high = values.quantile([0.25, 0.75])
    return values.clip(low - FENCE * (high - low), high + FENCE * (high - low))
