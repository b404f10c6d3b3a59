"""The angle between each worker's gradient and the gradient at the workers' mean, and its length,
as the workers of a trained run are moved towards and away from their mean.

*The paper* illustrates it with a drawing of two populations with the same mean: gradients of
synchronized workers align with the gradient at the global average; those of less coordinated
workers vary more. Here it is measured. *Look at* whether the alignment falls as V grows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ngo.analysis.seed_means import check_apart
from ngo.figures import plots
from ngo.figures.declaration import figure
from ngo.figures.style import COLOURS, METHOD_STYLES
from verdicts.statistics.estimates import estimate

BY = ["dataset", "method", "topology"]
"""Runs are seeds of one if they agree on these fields."""


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


@dataclass(frozen=True)
class Curve:
    """Means over seeds with the ends of their 95 % intervals, one value for each scale."""

    mean: np.ndarray
    below: np.ndarray
    """Distance of the interval's lower end from the mean; NaN without an interval."""
    above: np.ndarray
    """Distance of the interval's upper end from the mean."""


@dataclass(frozen=True)
class Alignment:
    """One of the gradients' values at each scale, against V."""

    V: pd.Series
    """Geometric mean over seeds of V, by scale."""
    least: pd.Series
    """The least value of all workers and seeds, by scale."""
    greatest: pd.Series
    workers: Curve
    """A worker's gradient."""
    mean: Curve
    """The mean of the workers' gradients."""


def trained_V(part: pd.DataFrame) -> float:
    """V at the end of training, the geometric mean over seeds."""
    moved = part[part["V"] > 0]
    return _geometric_mean(moved["V"] / moved["scale"] ** 2)


def alignment(part: pd.DataFrame, value: str, *, log: bool) -> Alignment:
    """``value`` of the workers' gradients and of their mean, by scale.

    With ``log``, means and intervals are those of the logarithm.
    """
    workers = part[part["worker"] >= 0]
    spread = workers.groupby("scale")[value]
    return Alignment(
        part.groupby("scale")["V"].agg(_geometric_mean),
        spread.min(),
        spread.max(),
        _curve(workers, value, log),
        _curve(part[part["worker"] < 0], value, log),
    )


def _curve(rows: pd.DataFrame, value: str, log: bool) -> Curve:
    forward, back = (np.log, np.exp) if log else (np.positive, np.positive)
    by_seed = rows.assign(shown=forward(rows[value])).groupby(["scale", "run"])["shown"].mean()
    found = [estimate(seeds.to_numpy()) for _, seeds in by_seed.groupby("scale")]
    mean = np.array([estimated.mean for estimated in found])
    half_width = np.array([estimated.half_width for estimated in found])
    return Curve(
        back(mean), back(mean) - back(mean - half_width), back(mean + half_width) - back(mean)
    )


def _geometric_mean(values: pd.Series) -> float:
    """The geometric mean; 0 if a value is 0."""
    return float(np.exp(np.log(values).mean())) if values.all() else 0.0


def draw(numbers: pd.DataFrame) -> Figure:
    """Directions and lengths, a row of panels for each data set, method and topology.

    Diverged runs are counted and left out of the curves.
    """
    cases = list(numbers.groupby(BY, dropna=False))
    figure = plots.new_figure(2.4 * len(cases) + 0.3)
    axes = figure.subplots(len(cases), 2, squeeze=False)
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


def _draw_against_V(axis: Axes, found: Alignment, *, log: bool) -> None:
    positive = found.V[found.V > 0]
    if log:
        axis.set_yscale("log")
    if len(positive):
        axis.set_xscale("symlog", linthresh=positive.min())
        low, high = np.log10([positive.min(), positive.max()])
        axis.set_xticks([0, *10.0 ** np.arange(np.ceil(low), np.floor(high) + 1)])
        axis.xaxis.set_minor_locator(NullLocator())
    axis.fill_between(
        found.V, found.least, found.greatest, color=COLOURS[0], alpha=0.15, linewidth=0
    )
    for curve, label, colour, style in (
        (found.workers, "a worker's gradient", COLOURS[0], "s--"),
        (found.mean, "the mean of the workers' gradients", COLOURS[1], "o-"),
    ):
        bars = [curve.below, curve.above]
        axis.errorbar(
            found.V, curve.mean, bars, fmt=style, color=colour, label=label, markersize=4, capsize=2
        )
    if log and len(positive):  # intervals of few seeds may leave the axes
        means = min(found.workers.mean), min(found.mean.mean)
        axis.set_ylim(min(found.least.min(), *means) / 2, found.greatest.max() * 2)
    axis.set(xlabel="index $V$")
