"""The number of samples of each class that each worker has, for the non-iid partitions.

*The paper:* each worker has a few classes only: two of 300 shards on MNIST, four of 40 on CIFAR-10,
a Dirichlet draw (β = 0.5) on TinyImageNet. *Look at* classes that no worker has: they limit the
accuracy of every method on that partition.
"""

from __future__ import annotations

import pandas as pd

from ngo import plots
from ngo.plots import captions
from ngo.plots.declaration import figure
from ngo.plots.style import TEXT_WIDTH


@figure(
    "figS2",
    section="Supplement",
    title="Figure S2: samples per class and worker of each non-iid partition",
    reads="classes_figS2",
    apart=("dataset", "partition"),
)
def numbers(metrics: pd.DataFrame) -> pd.DataFrame:
    """The counts themselves, ``results.class_counts``."""
    return metrics


def note(numbers: pd.DataFrame, metrics: pd.DataFrame) -> list[str]:
    """What is counted, and what a worker has."""
    return ["Training samples of each class on each worker.", worker_counts(numbers)]


def worker_counts(counts: pd.DataFrame) -> str:
    """The samples and classes of a worker: ``mnist: 400 samples of 2 to 4 classes a worker.``"""
    sentences = []
    for dataset, rows in counts.groupby("dataset", sort=False):
        own = rows.assign(classes=rows["samples"] > 0).groupby(["partition", "seed", "worker"])
        samples, kinds = (captions.span(own[name].sum(), "{:,}") for name in ("samples", "classes"))
        sentences.append(f"{dataset}: {samples} samples of {kinds} classes a worker.")
    return " ".join(sentences)


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """A heat map for each partition."""
    import seaborn as sns

    groups = list(numbers.groupby(["dataset", "partition", "seed"], sort=False))
    width = max(0.6 * TEXT_WIDTH, min(TEXT_WIDTH, 0.5 * TEXT_WIDTH * len(groups)))
    figure, (axes,) = plots.panels(3.6, 1, len(groups), width=width)
    for axis, ((dataset, partition, seed), group) in zip(axes, groups, strict=True):
        grid = group.pivot(index="label", columns="worker", values="samples")
        large = grid.size > 200
        sns.heatmap(
            grid,
            ax=axis,
            cmap="Blues",
            annot=False if large else grid.where(grid > 0).map("{:.0f}".format).replace("nan", ""),
            fmt="",
            annot_kws={"fontsize": 5.5 if grid.to_numpy().max() < 1000 or len(groups) < 3 else 4},
            cbar_kws={"label": "samples", "location": "bottom", "pad": 0.02},
            linewidths=0 if large else 0.4,
        )
        covered = int((grid.sum(axis=1) > 0).sum())
        title = f"{dataset}, {partition},\nseed {seed}: {covered} of {len(grid)} classes"
        axis.set(title=title, xlabel="worker", ylabel="class")
        axis.tick_params(axis="both", rotation=0)
    return figure
