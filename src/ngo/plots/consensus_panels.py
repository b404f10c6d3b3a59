"""Panels of consensus without learning: the workers' states, and V, by round."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes


def draw_states(axis: Axes, states: pd.DataFrame, colour: str) -> None:
    """A line for each worker's state; ``states`` are ``dynamics.state_rows``."""
    axis.plot(states["round"], states.filter(regex=r"^x\d+$"), color=colour, linewidth=0.8)
    axis.set(xlabel="round")


def draw_index(
    axis: Axes, states: pd.DataFrame, mark: float, label: str, colour: str, line: str
) -> None:
    """V as a line, with a dot at the round ``mark`` unless that is NaN."""
    axis.plot(states["round"], states["V"], line, color=colour, linewidth=1.2, label=label)
    marked = states[states["round"] == mark]
    axis.plot(marked["round"], marked["V"], "o", color=colour, markersize=4)
    axis.set(xlabel="round", yscale="log")


def kind(p: float) -> str:
    """``sublinear``, ``linear`` or ``superlinear``."""
    return "linear" if p == 1 else "sublinear" if p < 1 else "superlinear"
