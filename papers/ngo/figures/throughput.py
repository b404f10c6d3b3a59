"""Training throughput and speed-up of this package's engine by the number of workers, on the ring
with iid data. All workers share one machine, so the number of its cores limits the speed-up.

*The paper's* appendix calls the speed-up of its Figure A2 one of throughput, which this is; Figure
A2 here is the other reading, steps of training to a target. *Look at* the cost of NGO's coupling
compared with linear gossip at the same n.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ngo import plots
from ngo.plots.curve_panels import error_bars
from ngo.plots.declaration import figure
from ngo.plots.style import METHOD_STYLES


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


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """Samples per second and speed-up against n: medians of the repeats, with bars for the range.

    The grey line is a linear speed-up.
    """
    found = speedups(numbers)
    counts = sorted(found["workers"].unique())
    figure, ((left, right),) = plots.panels(2.6, 1, 2)
    for method, own in found.groupby("method", sort=False):
        rows = own.sort_values("workers").rename(columns={"median": "mean"})
        for axis, unit in ((left, 1.0), (right, own["base"].iloc[0])):
            scaled = rows.assign(**rows[["mean", "low", "high"]] / unit)
            look = {"linewidth": 1.5, "elinewidth": 1.5}
            error_bars(axis, scaled, "workers", METHOD_STYLES[method], **look)
    right.plot(counts, np.array(counts) / counts[0], color="0.6", linewidth=1, label="linear")
    over = "one worker" if counts[0] == 1 else f"{counts[0]} workers"
    left.set(title="throughput of training", ylabel="samples/s")
    left.set_ylim(bottom=0)
    left.yaxis.set_major_formatter("{x:,.0f}")
    right.set(title=f"speed-up over {over}", ylabel=f"speed-up over {over}")
    right.set_yscale("log", base=2)
    right.yaxis.set_major_formatter("{x:g}")
    for axis in (left, right):
        plots.value_ticks(axis, counts, base=2)
        axis.set(xlabel="number of workers $n$")
    right.legend()
    return figure
