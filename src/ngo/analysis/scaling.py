"""The best test accuracy by the number of workers, and the advantage of NGO over gossip."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ngo.analysis.curves import points, scores
from ngo.analysis.evaluations import final


def best_accuracies(metrics: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """``curves.points`` of ``best`` and of ``difference`` by protocol and number of workers.

    ``best`` is the highest accuracy that a run reached, ``difference`` NGO − gossip, paired by
    seed.
    """
    every = scores(metrics)
    last = final(every)
    last["best"] = last["run"].map(every.groupby("run")["accuracy"].max())
    best = points(last, ["protocol", "workers"], ["best"])
    last.loc[last["diverged"], "best"] = np.nan
    pairs = last.pivot(index=["workers", "seed"], columns="protocol", values="best")
    pairs = pairs.assign(difference=pairs["ngo"] - pairs["gossip"]).reset_index()
    pairs = pairs.assign(diverged=pairs["difference"].isna(), protocol="ngo")
    return best, points(pairs, ["protocol", "workers"], ["difference"])
