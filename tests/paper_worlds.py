"""Made-up metrics of every planned run, in worlds where it is known which claims are true.

In all worlds V grows from complete to ring, with H and n, and accuracy falls with log V. What p < 1
does to V is the effect: 1, as the paper says; 0, nothing; −1, the opposite.
"""

import math
import zlib

import numpy as np
import pandas as pd

from ngo.pipeline.config import read_config
from ngo.pipeline.experiments import training_runs

SEEDS = tuple(range(10))
"""Fewer can't have a p value below 5 % after the correction for the largest family."""
SHARES = {"fig8_course": np.linspace(0, 1, 17)}
USUAL = np.array([0.0, 0.25, 0.5, 0.75, 1.0])

BASE = {
    ("mnist", False): 97.0, ("mnist", True): 80.0, ("cifar10", False): 75.0,
    ("cifar10", True): 73.0, ("tinyimagenet", False): 40.0, ("tinyimagenet", True): 36.0,
    ("digits", False): 90.0, ("digits", True): 80.0,
}  # fmt: skip
NOISE = 0.02
"""Standard deviation of an accuracy in points, and of log V, beside what a seed's runs share."""


def experiments(configs):
    """The runs of each experiment, with ``SEEDS`` in place of the seeds of the config."""
    config = read_config(configs)
    return {
        name: list(training_runs(f"training.{name}", config, {**entry, "seeds": list(SEEDS)}))
        for name, entry in config["training"].items()
    }


def tidy_tables(experiments, names, effect):
    """The tidy tables of these experiments."""
    return {name: _table(name, experiments[name], effect) for name in names if name in experiments}


def _table(name, runs, effect):
    rows = []
    for spec in runs:
        rows += _evaluations(spec, effect, SHARES.get(name, USUAL))
    return pd.DataFrame(rows)


def edges(n, topology, u):
    """The mean number of edges of a graph."""
    pairs = n * (n - 1) / 2
    return {"ring": n if n > 2 else pairs, "complete": pairs, "random": (u or 0) * pairs}[topology]


def log_V(spec, effect):
    gap = {"ring": 1.0, "random": 0.6 - 0.5 * (spec.u or 0), "complete": 0.0}[spec.topology]
    found = gap - 0.3 * math.log(spec.gamma) + 0.5 * math.log(spec.local_steps or 1)
    found += 0.2 * math.log(spec.workers / 10) + 0.2 * (spec.delay or 0)
    found += 0.5 * math.log(spec.v_threshold or 1)
    if spec.p < 1:
        found -= effect * (1 + 0.5 * math.log(spec.workers / 4)) * (3 - 2 * spec.p)
        if spec.gamma > 1.1:  # where NGO breaks
            found += 4
    return found


def _evaluations(spec, effect, shares):
    noise = np.random.default_rng(zlib.crc32(spec.id.encode()))
    shared = np.random.default_rng(spec.seed)
    fields = spec.values()
    by_label = spec.partition in ("shards", "dirichlet")
    top = BASE.get((spec.dataset, by_label), 60.0) + shared.normal(0, 1) - 2 * by_label
    V = 0.0
    if spec.method != "centralized":
        level = log_V(spec, effect) + noise.normal(0, NOISE)
        V = math.exp(level)
        top -= (1.5 if by_label else 0.4) * (3 + level)
    top += noise.normal(0, NOISE) + 0.8 * math.log(spec.workers / 10)
    steps = 600
    models = 0.0
    if spec.method != "centralized":
        models = 2 * edges(spec.workers, spec.topology, spec.u) / (spec.local_steps or 1)
    chatters = spec.method == "ngo" and spec.gamma and spec.gamma > 0.5
    rows = []
    for k, share in enumerate(shares):
        accuracy = 10 + (top - 10) * (1 - math.exp(-5 * share)) / (1 - math.exp(-5))
        if chatters and 0 < share < 1:
            accuracy -= 3 * (k % 2)
        if 0 < share < 1:
            accuracy += noise.normal(0, NOISE)
        loss = (105 - accuracy) / 30 * (60 if spec.task == "vae" else 1)
        rows.append(
            {
                "run": spec.id, **fields, "step": round(share * steps),
                "epoch": share * spec.epochs, "consensus_accuracy": accuracy / 100,
                "workers_accuracy_mean": accuracy / 100 - 0.01,
                "holdout_accuracy": accuracy / 100 if spec.holdout else math.nan,
                "consensus_loss": loss, "workers_loss_mean": loss + V / spec.workers,
                "train_loss": loss / 2, "V": V * share, "parameters": 20_000,
                "messages": models * share * steps, "bytes_sent": 100 * models * share * steps,
                "diverged": False,
            }
        )  # fmt: skip
    return rows
