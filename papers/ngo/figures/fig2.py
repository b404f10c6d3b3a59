"""The angle between each worker's gradient and the gradient at the workers' mean, and its length,
as the workers of a trained run are moved towards and away from their mean.

*The paper* illustrates it with a drawing of two populations with the same mean: gradients of
synchronized workers align with the gradient at the global average; those of less coordinated
workers vary more. Here it is measured. *Look at* whether the alignment falls as V grows.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.ticker import NullLocator

from ngo import plots
from ngo.analysis.seed_means import check_apart
from ngo.plots.curve_panels import error_bars
from ngo.plots.declaration import figure
from ngo.plots.style import COLOURS, METHOD_STYLES, Style
from verdicts.statistics.estimates import estimate

BY = ["dataset", "method", "topology"]
"""Runs are seeds of one if they agree on these fields."""

LOOKS = (
    Style("a worker's gradient", COLOURS[0], "--", "s"),
    Style("the mean of the workers' gradients", COLOURS[1], "-", "o"),
)


@figure(
    "fig2",
    section="2 Problem setup",
    title="Figure 2: alignment of the workers' gradients with the gradient at their mean, "
    "against V",
    reads="alignment_fig2",
    apart=("dataset", "method", "topology"),
)
def numbers(metrics: pd.DataFrame) -> pd.DataFrame:
    """The measurement itself, ``alignment.alignment_table``.

    Raises a UserError for runs of one seed that agree on ``BY``.
    """
    check_apart(metrics.drop_duplicates("run"), BY)
    return metrics


def note(numbers: pd.DataFrame, metrics: pd.DataFrame) -> str:
    """How to read the drawing."""
    several = metrics["seed"].nunique() > 1
    over_seeds = " and seeds. Bars: 95 % Student t intervals over seeds, which may leave the axes"
    return (
        f"Gradients of one loss, on the same {metrics['samples'].max()} training images, at the "
        "workers of a trained run moved towards and away from their mean; dotted: where training "
        "ended. Bands: from the least to the greatest of all workers"
        f"{over_seeds if several else ''}."
    )


def trained_V(part: pd.DataFrame) -> float:
    """V at the end of training, the geometric mean over seeds."""
    moved = part[part["V"] > 0]
    return _geometric_mean(moved["V"] / moved["scale"] ** 2)


def alignment(part: pd.DataFrame, value: str, *, log: bool) -> dict[str, pd.DataFrame]:
    """``value`` of the ``workers``' gradients and of the ``mean`` of them, a row for each scale.

    Columns: ``V``, the geometric mean over seeds; ``mean``, ``low`` and ``high`` over seeds;
    ``least`` and ``greatest`` of all workers and seeds. With ``log``, means and intervals are those
    of the logarithm.
    """
    V = part.groupby("scale")["V"].agg(_geometric_mean)
    own = part["worker"] >= 0
    return {
        name: _over_seeds(rows, value, log).assign(V=V)
        for name, rows in (("workers", part[own]), ("mean", part[~own]))
    }


def _over_seeds(rows: pd.DataFrame, value: str, log: bool) -> pd.DataFrame:
    forward, back = (np.log, np.exp) if log else (np.positive, np.positive)
    by_seed = rows.assign(shown=forward(rows[value])).groupby(["scale", "run"])["shown"].mean()
    found = by_seed.groupby("scale").agg(
        mean=lambda seeds: estimate(seeds).mean, half_width=lambda seeds: estimate(seeds).half_width
    )
    mean, half_width = found["mean"], found["half_width"]
    ends = {"mean": mean, "low": mean - half_width, "high": mean + half_width}
    spread = rows.groupby("scale")[value]
    return back(pd.DataFrame(ends)).assign(least=spread.min(), greatest=spread.max())


def _geometric_mean(values: pd.Series) -> float:
    """The geometric mean; 0 if a value is 0."""
    return float(np.exp(np.log(values).mean())) if values.all() else 0.0


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """Directions and lengths, a row of panels for each data set, method and topology.

    Diverged runs are counted and left out of the curves.
    """
    cases = list(numbers.groupby(BY, dropna=False))
    figure, axes = plots.panels(2.4 * len(cases) + 0.3, len(cases), 2)
    for row, ((dataset, method, topology), part) in zip(axes, cases, strict=True):
        finite = part[~part["diverged"]]
        for axis, value in zip(row, ("cosine", "relative_norm"), strict=True):
            log = value == "relative_norm"
            axis.axvline(trained_V(part), color="0.5", linestyle=":", linewidth=1)
            _draw_against_V(axis, alignment(finite, value, log=log), log=log)
        where = ", ".join([dataset, METHOD_STYLES[method].label, *filter(pd.notna, [topology])])
        row[0].set(title=f"direction: {where}", ylabel="cosine with the gradient at $\\bar{x}$")
        row[0].set_ylim(-1.05, 1.05)
        row[1].set(title=f"length: {where}", ylabel="length / length of that at $\\bar{x}$")
        if lost := part.loc[part["diverged"], "run"].nunique():
            text = f"× {lost} of {part['run'].nunique()} runs diverged"
            row[0].text(0.99, 0.98, text, transform=row[0].transAxes, ha="right", va="top")
    plots.legend(figure, axes[0, 0])
    return figure


def _draw_against_V(axis: plots.Axes, found: dict[str, pd.DataFrame], *, log: bool) -> None:
    workers, mean = found["workers"], found["mean"]
    positive = workers.loc[workers["V"] > 0, "V"]
    if log:
        axis.set_yscale("log")
    if len(positive):
        axis.set_xscale("symlog", linthresh=positive.min())
        low, high = np.log10([positive.min(), positive.max()])
        axis.set_xticks([0, *10.0 ** np.arange(np.ceil(low), np.floor(high) + 1)])
        axis.xaxis.set_minor_locator(NullLocator())
    band = workers["V"], workers["least"], workers["greatest"]
    axis.fill_between(*band, color=COLOURS[0], alpha=0.15, linewidth=0)
    for rows, look in zip((workers, mean), LOOKS, strict=True):
        error_bars(axis, rows, "V", look, linewidth=1.5, elinewidth=1.5)
    if log and len(positive):  # intervals of few seeds may leave the axes
        least = min(workers["least"].min(), workers["mean"].min(), mean["mean"].min())
        axis.set_ylim(least / 2, workers["greatest"].max() * 2)
    axis.set(xlabel="index $V$")
