"""Throughput and speed-up by the number of workers."""

from __future__ import annotations

import pandas as pd


def speedups(table: pd.DataFrame) -> pd.DataFrame:
    """``throughput.throughput_table`` by method and workers, over the repeats.

    Columns: ``median``, ``low`` and ``high`` of the samples per second, and ``base``, the median
    of the same method with the fewest workers.
    """
    found = table.groupby(["method", "workers"], sort=False)["samples_per_second"]
    found = found.agg(median="median", low="min", high="max").reset_index()
    fewest = found[found["workers"] == found["workers"].min()].set_index("method")["median"]
    return found.assign(base=found["method"].map(fewest))
