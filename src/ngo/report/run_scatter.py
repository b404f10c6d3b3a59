"""A panel of V against accuracy with a marker for each run, told apart by protocol and topology."""

from __future__ import annotations

from itertools import cycle

import pandas as pd
from matplotlib.axes import Axes

from ngo.analysis.correlations import on_log_axis
from ngo.analysis.order import TOPOLOGY_ORDER
from ngo.report.curve_panels import LABELS, by_protocol
from ngo.report.plots import log_axis

FILLS = ("none", "left", "full", "right", "top", "bottom")
"""The filling of a marker shows the topology; colour and shape show the protocol."""


def scatter(axis: Axes, rows: pd.DataFrame) -> None:
    """Draw the runs in ``rows``, and state below how many diverged."""
    log_axis(axis.xaxis)
    topologies = [*TOPOLOGY_ORDER, *sorted(set(rows["topology"]) - set(TOPOLOGY_ORDER))]
    for topology, fill in zip(topologies, cycle(FILLS), strict=False):
        for style, part in by_protocol(rows[rows["topology"] == topology]):
            part = part[on_log_axis(part)]
            axis.plot(
                part["V"],
                part["accuracy"],
                style.marker,
                color=style.colour,
                fillstyle=fill,
                markerfacecoloralt="white",
                markersize=5,
                label=f"{style.label}, {topology}",
            )
    axis.set(xlabel=LABELS["V"], ylabel=LABELS["accuracy"])
    if lost := int((~on_log_axis(rows)).sum()):
        bottom, top = axis.get_ylim()
        axis.set_ylim(bottom - 0.08 * (top - bottom), top)
        axis.text(
            0.5, 0.02, f"× {lost} of {len(rows)} diverged", transform=axis.transAxes, ha="center"
        )
