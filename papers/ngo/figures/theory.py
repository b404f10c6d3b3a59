"""Four statements of the paper's theory, measured: the time to consensus and T* (Theorem 3.1), as
printed and corrected; the longest delay that still leads to consensus and π/(2λₙ); the
optimality gap and the bounds of Theorems 2.1 and 3.2; the floor of V in rounds and its prediction.

*The paper:* V is 0 after T*, delays up to π/(2λₙ) do no harm, and NGO's bound sums V only up to T*.
*Look at* the printed T*: its proof loses a factor when it symmetrizes a sum, so the printed time is
too short.
"""

from __future__ import annotations

import pandas as pd

from ngo.figures import plots
from ngo.figures.declaration import figure
from ngo.figures.style import METHOD_STYLES, kth_style
from ngo.theorems.kinds import DRAWN, rows_of

KINDS = ("bounds", "delays", "gaps", "floors")


@figure(
    "theory",
    section="3 Nonlinear gossiping",
    title="Theory: consensus times, delays and convergence against the paper's bounds",
    reads="theory_theory",
)
def numbers(metrics: pd.DataFrame) -> pd.DataFrame:
    """The rows of the table of theory that the figure shows."""
    return metrics[metrics["kind"].isin(KINDS)].dropna(axis=1, how="all")


def note(numbers: pd.DataFrame, metrics: pd.DataFrame) -> str:
    """How to read the drawing."""
    return "Grey: measured as theory says."


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """A panel for each of ``KINDS``."""
    times, delays, gaps, floors = (rows_of(numbers, kind) for kind in KINDS)
    figure, axes = plots.panels(4.6, 2, 2)
    _times(axes[0, 0], times)
    _by_p(axes[0, 1], delays, "limit", "tolerated")
    axes[0, 1].set(xlabel=r"limit $\pi/2\lambda_n$", ylabel="measured")
    _gaps(axes[1, 0], gaps)
    _by_p(axes[1, 1], floors, "predicted", "measured")
    axes[1, 1].set(xlabel="$V$ of the largest cycle", ylabel="measured", xscale="log", yscale="log")
    names = ("consensus time", "tolerated delay", "gap (bound: thin)", "floor of $V$ in rounds")
    plots.titles(axes.flat, *names)
    return figure


def _times(axis: plots.Axes, bounds: pd.DataFrame) -> None:
    for k, form in enumerate(("paper", "corrected", "sharp")):
        look = kth_style(k, f"$T^*$ {'as printed' if form == 'paper' else form}")
        p = bounds["p"] + 0.012 * (k - 1)  # the marks of the three forms are side by side
        axis.plot(p, bounds["measured"] / bounds[form], **look.marks, markersize=3)
    axis.axhline(1, color="0.5", linewidth=0.8)
    axis.set(xlabel="$p$", ylabel="measured / $T^*$", ylim=(0, 3.6))  # room for the legend
    axis.legend()


def _gaps(axis: plots.Axes, gaps: pd.DataFrame) -> None:
    """The gaps on the fixed graph, from the nearest start."""
    gaps = gaps[(gaps["topology"] != DRAWN) & (gaps["distance"] == gaps["distance"].min())]
    for method, group in gaps.groupby("method"):
        look = METHOD_STYLES[method]
        line = {"color": look.colour, "linestyle": look.line}
        axis.plot(group["T"], group["gap"], label=look.label, **line)
        axis.plot(group["T"], group["bound"], linewidth=0.6, **line)
    axis.set(xlabel="steps $T$", ylabel=r"$f(x_\mathrm{avg}^T)-f^*$", xscale="log", yscale="log")
    axis.legend()


def _by_p(axis: plots.Axes, table: pd.DataFrame, theory: str, measured: str) -> None:
    """``measured`` against ``theory``, with the line on which they are equal."""
    for k, (p, group) in enumerate(table.groupby("p")):
        look = kth_style(k, f"$p={p:g}$")
        axis.plot(group[theory], group[measured], **look.marks, markersize=3.5)
    ends = [table[theory].min(), table[theory].max()]
    axis.plot(ends, ends, color="0.5", linewidth=0.8, zorder=0)
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5), handlelength=1)
