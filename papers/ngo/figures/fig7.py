"""The best test accuracy of each method by the number of workers n, and NGO − gossip, paired by
seed. Each worker has the same amount of data for every n.

*The paper* has the best accuracy within 300 epochs, and names no data set. With CIFAR-10, that is
84 million samples for one seed, as many as 37 runs of 45 epochs of all of CIFAR-10: the paper tier
has them, the smaller tiers have smaller data sets and fewer epochs. *The paper:* NGO is above
linear gossip at every size, and more workers do better because they use more data. *Look at* the
distance between the two, and to centralized learning, as n grows.
"""

from __future__ import annotations

import pandas as pd

from ngo import plots
from ngo.analysis.comparisons import gains
from ngo.analysis.curves import points, scores, together
from ngo.plots import captions
from ngo.plots.curve_panels import by_method, dots
from ngo.plots.declaration import figure
from verdicts.rows.evaluations import final

SIZES = ["method", "workers"]


@figure(
    "fig7",
    section="5.5 Scaling to large number of workers",
    title="Figure 7: scaling, the same data for each worker",
    apart=("method", "workers"),
    stands_for="cifar10",
)
def numbers(metrics: pd.DataFrame) -> pd.DataFrame:
    """The means over seeds by method and number of workers: ``best`` (``with_best``), and the
    ``difference`` NGO − gossip.
    """
    last = with_best(scores(metrics))
    best = points(last, SIZES, ["best"])
    return together(best, points(gains(last, ["workers"], "best"), SIZES, ["difference"]))


def with_best(metrics: pd.DataFrame) -> pd.DataFrame:
    """The last evaluation of every run with ``best``: the highest accuracy that the run reached.

    Only evaluations on the whole test set count: the best of many noisy ones would be too high.
    ``best`` is NaN for a diverged run.
    """
    last = final(metrics)
    whole = metrics[_on_whole_test_set(metrics)]
    best = last["run"].map(whole.groupby("run")["accuracy"].max())
    return last.assign(best=best.where(~last["diverged"]))


def _on_whole_test_set(metrics: pd.DataFrame) -> pd.Series:
    """Whether an evaluation used all test images: the last one of a run always does."""
    if "eval_images" not in metrics:
        return pd.Series(True, index=metrics.index)
    at_end = metrics["step"] == metrics.groupby("run")["step"].transform("max")
    return at_end | (metrics["eval_images"].fillna(0) == 0)


def note(numbers: pd.DataFrame, metrics: pd.DataFrame) -> list[str]:
    """How to read the drawing."""
    whole = metrics[_on_whole_test_set(metrics) & (metrics["step"] > 0)]
    count, epochs = whole.groupby("run").size().max(), metrics["epoch"].max()
    evaluations = f"{count} evaluation{'s' if count > 1 else ''}"
    return [
        f"Every worker has {metrics['samples_per_worker'].max():.0f} samples. Best: the highest "
        f"accuracy of {evaluations} on the whole test set in {epochs:.3g} epochs; the paper has "
        "300 epochs.",
        *captions.seeds(metrics, geometric=False),
    ]


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """The best accuracy and the difference against n."""
    figure, (axes,) = plots.panels(2.7, 1, 2)
    for axis, value in zip(axes, ("best", "difference"), strict=True):
        plots.value_ticks(axis, sorted(numbers["workers"].unique()), base=2)
        dots(axis, by_method(numbers[numbers["value"] == value]), "workers", value)
        axis.set_xlabel("workers $n$")
    plots.titles(axes, "best accuracy", "difference, paired by seed")
    plots.legend(figure, axes[0])
    return figure
