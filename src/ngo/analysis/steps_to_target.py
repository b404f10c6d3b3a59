"""Steps to a target accuracy by the number of workers, and the speed-up over the fewest."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ngo.analysis.seed_means import check_apart
from verdicts.rows.evaluations import final
from verdicts.rows.times import time_to
from verdicts.statistics.estimates import estimate

BY = ["method", "workers"]


def steps_to_targets(metrics: pd.DataFrame, targets: Mapping[str, float]) -> pd.DataFrame:
    """The steps after which each run reaches each of ``targets``, accuracies in percent by name.

    A row for each run and target. Columns: target, accuracy, method, workers, seed; ``steps``,
    inf for a run that never gets there; ``speedup``, the steps of the same method and seed with
    the fewest workers over these, 0 for inf, NaN if the fewest never get there. Centralized runs
    are a row of every method: one worker has no neighbour, and that is its training.
    """
    last = final(metrics)
    check_apart(last, BY)
    alone = last[last["method"] == "centralized"]
    last = last[last["method"] != "centralized"]
    copies = [alone.assign(method=name) for name in last["method"].unique()]
    last = pd.concat([last, *copies])
    tables = []
    for name, accuracy in targets.items():
        steps = time_to(metrics, accuracy / 100, "consensus_accuracy", "step")
        table = last[[*BY, "seed"]].assign(target=name, accuracy=accuracy)
        table["steps"] = last["run"].map(steps)
        fewest = table[table["workers"] == table["workers"].min()]
        base = fewest.set_index(["method", "seed"])["steps"].rename("base")
        table = table.merge(base, on=["method", "seed"], how="left")
        table["speedup"] = (table["base"] / table["steps"]).where(np.isfinite(table["base"]))
        tables.append(table.drop(columns="base"))
    whole = pd.concat(tables, ignore_index=True)
    return whole.sort_values(["target", *BY, "seed"], kind="stable", ignore_index=True)


def speedup_means(table: pd.DataFrame) -> pd.DataFrame:
    """Geometric means over seeds of ``steps_to_targets``, with 95 % intervals.

    Columns: target, accuracy, method, workers; ``steps`` and ``speedup``, each with ``_low`` and
    ``_high``; seeds; ``reached``, how many of them reach the target. NaN unless all do.
    """
    records = []
    for keys, rows in table.groupby(["target", "accuracy", *BY], sort=False):
        record = dict(zip(["target", "accuracy", *BY], keys, strict=True))
        for name in ("steps", "speedup"):
            values = rows[name].to_numpy(float)
            usable = np.isfinite(values).all() and (values > 0).all()
            found = estimate(np.log(values) if usable else np.full(len(values), np.nan))
            ends = found.mean, found.mean - found.half_width, found.mean + found.half_width
            record |= dict(zip((name, f"{name}_low", f"{name}_high"), np.exp(ends), strict=True))
        reached = int(np.isfinite(rows["steps"]).sum())
        records.append({**record, "seeds": len(rows), "reached": reached})
    return pd.DataFrame(records)
