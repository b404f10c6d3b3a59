"""A plot of a partition: who owns how many samples of each class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ngo import plots
from ngo.data.heterogeneity import hellinger_pairwise, hellinger_to_global, label_entropy
from ngo.plots.style import COLOURS, TEXT_WIDTH

#: Points per inch.
POINTS = 72

#: The diameter of the largest bubble, as a share of the distance to the next.
FULL = 0.92


def save_partition_plot(counts: np.ndarray, title: str, stem: str | Path) -> Path:
    """Draw ``counts`` ``[n, classes]``; write ``stem``.png, .pdf and .csv; the path of the first.

    ``counts[i, k]`` is the number of samples of class k on worker i.
    """
    figure = draw(counts)
    plots.below(figure, f"{title}.", in_words(counts))
    worker, label = np.indices(counts.shape)
    columns = {"worker": worker, "label": label, "samples": counts}
    shown = pd.DataFrame({name: values.ravel() for name, values in columns.items()})
    return plots.save_figure(figure, stem, shown)


def draw(counts: np.ndarray) -> Figure:
    """The samples of each worker as bars; below, a bubble for each worker and class.

    The area of a bubble is proportional to its number of samples.
    """
    n, classes = counts.shape
    height = min(6.0, max(1.6, 0.17 * classes))
    figure = plots.new_figure(height + 1.6)
    bars, bubbles = figure.subplots(2, 1, sharex=True, height_ratios=(0.8, height))
    bars.bar(np.arange(n), counts.sum(1), color="0.6", width=0.7)
    bars.set_ylabel("samples")
    cell = POINTS * min(0.8 * TEXT_WIDTH / (n + 0.4), 0.9 * height / (classes + 0.4))
    worker, label = np.nonzero(counts)
    most = counts.max()
    diameters = FULL * cell * np.sqrt(counts[worker, label] / most)
    bubbles.scatter(worker, label, s=diameters**2, color=COLOURS[0], lw=0)
    bubbles.set(xlabel="worker", ylabel="class", xlim=(-0.7, n - 0.3), ylim=(-0.7, classes - 0.3))
    for axis in (bubbles.xaxis, bubbles.yaxis):
        axis.set_major_locator(MaxNLocator(20, integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    sizes = sorted({int(most), max(1, round(most / 4))}, reverse=True)
    look = {"marker": "o", "ls": "", "mew": 0, "color": COLOURS[0]}
    shown = [Line2D([], [], **look, ms=FULL * cell * np.sqrt(size / most)) for size in sizes]
    names = [f"{size:,}" for size in sizes]
    figure.legend(shown, names, title="samples", loc="outside right center")
    return figure


def in_words(counts: np.ndarray) -> str:
    """The sizes of the workers' shares and how unlike their labels are, in sentences."""
    sizes = counts.sum(1)
    most = np.log(counts.shape[1])
    return (
        f"{sizes.min():,} to {sizes.max():,} samples a worker. Mean Hellinger distance of a "
        f"worker's labels to all labels {hellinger_to_global(counts):.2f}, between two workers "
        f"{hellinger_pairwise(counts):.2f}; mean label entropy {label_entropy(counts):.2f} of at "
        f"most {most:.2f} nats."
    )
