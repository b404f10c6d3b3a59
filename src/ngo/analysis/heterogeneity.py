"""How unlike the workers' labels are, for each of many partitions."""

from __future__ import annotations

import pandas as pd

from ngo.data.heterogeneity import hellinger_pairwise, hellinger_to_global, label_entropy

MEASURES = {
    "hellinger": hellinger_to_global,
    "hellinger_pairwise": hellinger_pairwise,
    "label_entropy": label_entropy,
}


def heterogeneity(counts: pd.DataFrame) -> pd.DataFrame:
    """A row for each partition in ``results.class_counts``, with its fields and ``MEASURES``."""
    own = ["worker", "label", "samples"]
    fields = [name for name in counts if name not in own]
    rows = []
    for values, group in counts.groupby(fields, sort=False, dropna=False):
        table = group.pivot(index="worker", columns="label", values="samples").to_numpy()
        measured = {name: measure(table) for name, measure in MEASURES.items()}
        rows.append({**dict(zip(fields, values, strict=True)), **measured})
    return pd.DataFrame(rows)
