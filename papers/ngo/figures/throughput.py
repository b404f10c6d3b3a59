"""Training throughput and speed-up of this package's engine by the number of workers, on the ring
with iid data. All workers share one machine, so the number of its cores limits the speed-up.

*The paper* has no such measurement: its Figure A2 is about steps of training. *Look at* the cost of
NGO's coupling compared with linear gossip at the same n.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ngo.figures import plots
from ngo.figures.declaration import figure
from ngo.figures.style import METHOD_STYLES


@figure(
    "throughput",
    section="What the paper leaves open",
    title="Throughput of the engine, and its speed-up, by the number of workers",
    reads="throughput_throughput",
)
def numbers(metrics: pd.DataFrame) -> pd.DataFrame:
    """The measurement itself, ``throughput.throughput_table``."""
    return metrics


def note(numbers: pd.DataFrame, metrics: pd.DataFrame) -> str:
    """What was measured."""
    facts = metrics.iloc[0]
    return (
        f"Training steps of {facts['model']} (batches of {facts['batch_size']}, topology "
        f"{facts['topology']}) without evaluations, all workers on one machine of {facts['cores']} "
        f"cores. Medians and range of {metrics['repeat'].nunique()} repeats of {facts['steps']} "
        "steps."
    )


def speedups(table: pd.DataFrame) -> pd.DataFrame:
    """``throughput.throughput_table`` by method and workers, over the repeats.

    Columns: ``median``, ``low`` and ``high`` of the samples per second, and ``base``, the median
    of the same method with the fewest workers.
    """
    found = table.groupby(["method", "workers"], sort=False)["samples_per_second"]
    found = found.agg(median="median", low="min", high="max").reset_index()
    fewest = found[found["workers"] == found["workers"].min()].set_index("method")["median"]
    return found.assign(base=found["method"].map(fewest))


def draw(numbers: pd.DataFrame) -> Figure:
    """Samples per second and speed-up against n: medians of the repeats, with bars for the range.

    The grey line is a linear speed-up.
    """
    found = speedups(numbers)
    counts = sorted(found["workers"].unique())
    fewest = counts[0]
    figure = plots.new_figure(2.6)
    left, right = figure.subplots(1, 2)
    for method, own in found.groupby("method", sort=False):
        own = own.sort_values("workers")
        style = METHOD_STYLES[method]
        for axis, unit in ((left, 1.0), (right, own["base"].iloc[0])):
            axis.errorbar(
                own["workers"],
                own["median"] / unit,
                np.array([own["median"] - own["low"], own["high"] - own["median"]]) / unit,
                color=style.colour,
                linestyle=style.line,
                marker=style.marker,
                markersize=4,
                capsize=2,
                label=style.label,
            )
    right.plot(counts, np.array(counts) / fewest, color="0.6", linewidth=1, label="linear")
    over = "one worker" if fewest == 1 else f"{fewest} workers"
    left.set(title="throughput of training", ylabel="samples/s")
    left.set_ylim(bottom=0)
    left.yaxis.set_major_formatter("{x:,.0f}")
    right.set(title=f"speed-up over {over}", ylabel=f"speed-up over {over}")
    right.set_yscale("log", base=2)
    right.yaxis.set_major_formatter("{x:g}")
    for axis in (left, right):
        axis.set_xscale("log", base=2)
        axis.set_xticks(counts, [str(n) for n in counts])
        axis.set(xlabel="number of workers $n$")
        axis.xaxis.set_minor_locator(NullLocator())
    right.legend()
    return figure
