"""Made-up metrics of methods with couplings, for tables and figures."""

import math

import pandas as pd
from made_up import cell

METHODS = {"sgd": ("ngo", "sgd"), "momentum": ("ngo", "momentum"), "d2": ("d2", "sgd")}
LEVELS = {"sgd": 0.6, "momentum": 0.7, "d2": 0.75}
GAINS = {("power", 0.8): 0.03, ("capped", 0.8): 0.05}


def combinations(diverged=()):
    """Three methods, each linear, with NGO and capped, at two γ of which 0.4 is better.

    The gain of NGO is 3 points and that of the cap 5, but none with D². Seed k is k points better.
    """
    rows = []
    for algorithm, (method, rule) in METHODS.items():
        for coupling, p in (("power", 1.0), *GAINS):
            for gamma, worse in ((0.2, 0.1), (0.4, 0.0)):
                gain = 0 if algorithm == "d2" else GAINS.get((coupling, p), 0)
                scores = [LEVELS[algorithm] + gain - worse + 0.01 * seed for seed in range(4)]
                lost = (1,) if (algorithm, coupling, gamma) in diverged else ()
                name = "gossip" if (coupling, p, method) == ("power", 1.0, "ngo") else method
                found = cell(
                    "ring", name, scores, partition="shards", diverged=lost, local_rule=rule,
                    coupling=coupling, p=p, gamma=gamma, lr=0.05, bytes_sent=1e6, messages=10,
                )  # fmt: skip
                rows += [{**row, "holdout_accuracy": row["consensus_accuracy"]} for row in found]
    central = cell(
        None, "centralized", [0.8] * 4, partition="shards", local_rule="sgd", coupling=None,
        p=math.nan, gamma=math.nan, lr=0.05, bytes_sent=1e6, messages=10,
    )  # fmt: skip
    rows += [{**row, "holdout_accuracy": row["consensus_accuracy"]} for row in central]
    return pd.DataFrame(rows)
