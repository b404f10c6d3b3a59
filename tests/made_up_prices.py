"""Made-up runs of several methods with their traffic."""

import math

import numpy as np
import pandas as pd

N, ROW, STEPS = 4, 1000.0, np.arange(0, 101, 20)
CASES = {
    "linear, ring": {"method": "gossip", "topology": "ring", "p": 1.0, "messages": 8},
    "NGO, ring": {"method": "ngo", "topology": "ring", "p": 0.8, "messages": 8},
    "linear, complete": {"method": "gossip", "topology": "complete", "p": 1.0, "messages": 12},
    "local_sgd linear, H = 5, ring": {
        "method": "local_sgd", "topology": "ring", "p": 1.0, "messages": 8 / 5, "local_steps": 5,
    },
    "centralized": {
        "method": "centralized", "topology": None, "p": math.nan, "gamma": math.nan,
        "coupling": None, "messages": 8,
    },
}  # fmt: skip
SPEED = dict(zip(CASES, (0.5, 0.7, 0.8, 0.6, 0.9), strict=True))


def prices(seeds=3):
    """Accuracy rises to its case's ``SPEED`` in a line; γ = 0.4 is better than 0.2."""
    rows = []
    for case, fields in CASES.items():
        for gamma in (math.nan,) if case == "centralized" else (0.2, 0.4):
            for seed in range(seeds):
                for t in STEPS:
                    accuracy = SPEED[case] * t / 100 * (0.9 if gamma == 0.2 else 1)
                    sent = fields["messages"] * t
                    rows.append(
                        {
                            "run": f"{case}-{gamma}-{seed}", "dataset": "mnist",
                            "partition": "shards", "workers": N, "local_rule": "sgd",
                            "coupling": "power", "local_steps": 1, "delay": 0, "lr": 0.05,
                            "gamma": gamma, "seed": seed, "step": t, "epoch": t / 10,
                            "diverged": False, "consensus_accuracy": accuracy,
                            "holdout_accuracy": accuracy, "consensus_loss": 1 - accuracy,
                            "workers_loss_mean": 1 - accuracy, "bytes_sent": sent * ROW,
                            "classes_covered": 10, **fields, "messages": sent,
                        }
                    )  # fmt: skip
    return pd.DataFrame(rows)
