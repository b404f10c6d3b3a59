"""Five workers learn y = sin x from noisy samples, with a small neural network each: the fits by
the consensus model and by each worker, their mean squared errors on noisy test points, and V.

*The paper* describes this experiment and shows no result of it. Its network ends in a ReLU, which
cannot be negative; ours ends in a linear layer. *Look at* whether the workers' curves agree with
each other and with the sine.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ngo import plots
from ngo.analysis.curves import along, part, scores, together
from ngo.plots import captions
from ngo.plots.curve_panels import by_method, lines
from ngo.plots.declaration import figure
from ngo.plots.style import Style

VALUES = ["loss", "workers_loss", "V"]


@figure(
    "figS6",
    section="Supplement",
    title="Figure S6: a noisy sine learned by five workers",
    reads={"metrics": "figS6", "samples": "samples_figS6"},
    apart=("method",),
)
def numbers(metrics: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """In two parts, ``course``: means over seeds of the errors and V along training; and ``fits``:
    the noisy points and the predictions of each model, in the first seed.
    """
    fits = samples[samples["seed"] == samples["seed"].min()]
    return together(
        course=along(scores(metrics), ["method"], "epoch", VALUES),
        fits=fits[["method", "seed", "kind", "who", "worker", "x", "y"]],
    )


def note(numbers: pd.DataFrame, metrics: pd.DataFrame, samples: pd.DataFrame) -> list[str]:
    """How to read the drawing."""
    return [
        "Thick lines: the consensus model; thin lines: the workers.",
        captions.ONE_MODEL,
        *captions.seeds(metrics),
    ]


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """The fits by the consensus model and by each worker; errors and V along training."""
    cases, fits = by_method(part(numbers, "course")), part(numbers, "fits")
    figure, axes = plots.panels(4.4, 2, 3)
    for axis, (style, rows) in zip(axes[0], cases, strict=True):
        _draw_fits(axis, fits[fits["method"] == rows["method"].iloc[0]], style)
        axis.set(xlabel="$x$", ylabel="$y$")
    for axis, value in zip(axes[1], VALUES, strict=True):
        lines(axis, cases, "epoch", value)
        axis.set_xlabel("epoch")
    names = [style.label for style, _ in cases]
    names += ["consensus model", "mean of the workers", "synchronization"]
    plots.titles(axes.flat, *names)
    axes[0, 0].legend(loc="lower right", fontsize="small")
    plots.legend(figure, axes[1, 0])
    return figure


def _draw_fits(axis: plots.Axes, rows: pd.DataFrame, style: Style) -> None:
    noisy, fitted = rows[rows["kind"] == "target"], rows[rows["kind"] == "prediction"]
    axis.plot(noisy["x"], noisy["y"], ".", color="0.7", markersize=2, label="test points")
    for _, worker in fitted[fitted["who"] == "worker"].groupby("worker"):
        axis.plot(worker["x"], worker["y"], color=style.colour, lw=0.6, alpha=0.6)
    consensus = fitted[fitted["who"] == "consensus"].sort_values("x")
    axis.plot(consensus["x"], np.sin(consensus["x"]), color="0.2", lw=0.7, label=r"$\sin x$")
    axis.plot(consensus["x"], consensus["y"], color=style.colour, ls=style.line, lw=1.4)
    if not np.isfinite(consensus["y"]).all():
        axis.text(0.5, 0.05, "diverged", transform=axis.transAxes, ha="center")
