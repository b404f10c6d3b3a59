"""What accuracy costs: runs of several methods against the bytes and the seconds that they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ngo.analysis.combinations import TUNED, known, with_parts
from ngo.analysis.curves import along, scores
from ngo.analysis.network_time import NetworkModel, network_seconds
from verdicts.rows.best_fields import at_best
from verdicts.rows.evaluations import final
from verdicts.rows.times import time_to

SITUATION = ["dataset", "partition"]


def case_names(metrics: pd.DataFrame) -> pd.Series:
    """A name for each run by its parts: ``NGO, ring``; ``local_sgd linear, H = 5, ring``.

    It does not tell apart runs that differ in p, γ or the learning rate.
    """
    return with_parts(metrics).apply(_case_name, axis=1)


def _case_name(run: pd.Series) -> str:
    algorithm = "" if run["algorithm"] == run["local_rule"] == "sgd" else run["algorithm"]
    parts = [f"{algorithm} {run['mixer']}" if known(run, "mixer", None) else algorithm]
    if known(run, "local_steps", 1):
        parts.append(f"H = {run['local_steps']:g}")
    if known(run, "delay", 0):
        parts.append(f"τ = {run['delay']:g}")
    if known(run, "compression", "none"):
        share = f" {run['kept_share']:g}" if known(run, "kept_share", None) else ""
        parts.append(run["compression"] + share)
    if known(run, "topology", None):
        parts.append(run["topology"].replace("_", " "))
    return ", ".join(part.strip() for part in parts)


def priced(metrics: pd.DataFrame, networks: Mapping[str, NetworkModel]) -> pd.DataFrame:
    """The evaluations of each case's runs at its best p, γ and learning rate, with their costs.

    Columns: ``case`` (``case_names``); ``sent_per_worker``, bytes so far; a column of modelled
    seconds so far for each network, under its name.
    """
    runs = metrics.drop_duplicates("run").set_index("run")
    named = metrics.assign(case=metrics["run"].map(case_names(runs)))
    chosen = at_best(named, TUNED, [*SITUATION, "case"]).reset_index(drop=True)
    seconds = {name: network_seconds(chosen, network) for name, network in networks.items()}
    return chosen.assign(sent_per_worker=chosen["bytes_sent"] / chosen["workers"], **seconds)


def price_curves(found: pd.DataFrame, cost: str) -> pd.DataFrame:
    """Accuracy (percent) along a column of costs: ``curves.along`` for each case."""
    return along(scores(found), [*SITUATION, "case"], cost, ["accuracy"])


def costs_to(found: pd.DataFrame, target: float, costs: Sequence[str]) -> pd.DataFrame:
    """What it costs each case to reach the accuracy ``target`` (percent): medians over seeds.

    Columns: ``SITUATION``, ``case``, the best ``TUNED``, one for each of ``costs``, and how many
    ``seeds`` of how many ``runs`` reach it. inf where half of them or more do not.
    """
    last = final(found)
    for cost in costs:
        at = time_to(found, target / 100, "consensus_accuracy", cost)
        last[cost] = last["run"].map(at)
    groups = last.groupby([*SITUATION, "case"], sort=False)
    return groups.agg(
        **{name: (name, "first") for name in TUNED},
        **{cost: (cost, "median") for cost in costs},
        seeds=(costs[0], lambda values: int(np.isfinite(values).sum())),
        runs=("run", "size"),
    ).reset_index()
