"""What accuracy costs: runs of several methods against the bytes and the seconds that they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ngo.analysis.best_fields import at_best
from ngo.analysis.combinations import with_parts
from ngo.analysis.curves import along, scores
from ngo.analysis.evaluations import final
from ngo.analysis.hitting_times import time_to
from ngo.analysis.network_time import NetworkModel, network_seconds

SITUATION = ["dataset", "partition"]
TUNED = ["p", "gamma", "lr"]


def case_names(metrics: pd.DataFrame) -> pd.Series:
    """A name for each run by its parts: ``NGO, ring``; ``local_sgd linear, H = 5, ring``.

    It does not tell apart runs that differ in p, γ or the learning rate.
    """
    known = with_parts(metrics)
    rule = known["local_rule"].where(known["local_rule"] != "sgd", "")
    plain = known["method"] == known["local_rule"]
    method = known["method"].mask(plain, rule)
    mixer = known["mixer"].fillna("")
    name = (method + " " + mixer).str.strip()
    for column, label in (("local_steps", "H = {:g}"), ("delay", "τ = {:g}")):
        if column in known:
            shown = known[column].map(label.format, na_action="ignore")
            neutral = known[column].isna() | known[column].eq(
                {"local_steps": 1, "delay": 0}[column]
            )
            name = name + (", " + shown.astype(object)).where(~neutral, "")
    if "compression" in known:
        some = known["compression"].notna() & known["compression"].ne("none")
        share = known["kept"].map(" {:.3g}".format, na_action="ignore") if "kept" in known else ""
        name = name + (", " + known["compression"] + share).where(some, "").fillna("")
    return name + (", " + known["topology"].str.replace("_", " ")).fillna("")


def priced(metrics: pd.DataFrame, networks: Mapping[str, NetworkModel]) -> pd.DataFrame:
    """The evaluations of each case's runs at its best p, γ and learning rate, with their costs.

    Columns: ``case`` (``case_names``); ``sent_per_worker``, bytes so far; a column of modelled
    seconds so far for each network, under its name.
    """
    named = metrics.assign(case=case_names(metrics))
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
