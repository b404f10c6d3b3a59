"""A tier with made-up results, some of whose claims are undecided."""

import pandas as pd
import recorded_runs
import yaml
from finished_runs import campaign

from ngo.pipeline.config_files import read_config
from ngo.pipeline.plan import plan

GAMMAS = [0.1, 0.4, 1.0]
BEST = {"gossip": 0.4, "ngo": 1.0}
SECONDS = {"gossip": 60.0, "ngo": 120.0}
NOISE = [0.9, -1.1, 0.4, -0.3, 0.7, 0.2, -0.8, 1.3]

TRAINING = {
    "own": {
        "settings": ["tiny"],
        "seeds": [3, 4, 5, 6],
        "compare": [
            {"method": "gossip", "topology": "ring", "gamma": GAMMAS, "holdout": 0.1},
            {"method": "ngo", "topology": "ring", "gamma": GAMMAS, "p": 0.9, "holdout": 0.1},
        ],
    }
}

CLAIM = {
    "place": "here",
    "says": "so",
    "kind": "order",
    "from": "own",
    "above": 0,
    "unit": "points",
}
SIDES = {"of": {"method": "ngo"}, "minus": {"method": "gossip"}}
CLAIMS = {
    "tuned": {"quantity": "best_difference", "with": {**SIDES, "choose": ["gamma"]}},
    "at-one": {"quantity": "difference", "with": SIDES, "where": {"gamma": 1.0}},
    "decided": {"quantity": "level", "where": {"gamma": 0.1, "method": "ngo"}},
    "every": {
        "quantity": "difference", "with": SIDES, "every_cell": True,
        "cells": {"low": {"gamma": 0.1}, "high": {"gamma": 1.0}},
    },
    "marked": {"quantity": "difference", "with": SIDES, "where": {"gamma": 1.0}, "trivial": "so"},
    "unplanned": {"quantity": "difference", "with": SIDES, "where": {"gamma": 1.0}, "looks": None},
}  # fmt: skip


def tier(folder, claims=CLAIMS, looks=(4, 8, 16), **changes):
    """The config files and the plan of a tier whose first looks are taken; they have results."""
    entries = {name: {**CLAIM, **each} for name, each in claims.items()}
    for each in entries.values():
        if each["quantity"] == "pooled":
            del each["from"]
    content = {"looks": list(looks), "claims": entries}
    (folder / "claims.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    given = {"training": TRAINING, "claims": str(folder / "claims.yaml"), "findings": None}
    configs, planned = campaign(folder, **{**given, **changes})
    make(folder, planned)
    return configs, planned


def make(folder, planned):
    """Records of all runs of a plan, and its tidy tables."""
    for spec in planned.runs.values():
        if not (folder / "results/runs" / spec.id).exists():
            seconds = SECONDS[spec.method]
            recorded_runs.write(folder / "results", spec, seconds=seconds, code="made up")
    metrics = folder / "results" / planned.tier / "metrics"
    metrics.mkdir(parents=True, exist_ok=True)
    for name, specs in planned.training.items():
        pd.DataFrame([_row(spec) for spec in specs]).to_parquet(metrics / f"{name}.parquet")


def _row(spec):
    """NGO at γ = 0.1 is better for sure; elsewhere, the difference is 0.6 and noise."""
    noise = NOISE[spec.seed % len(NOISE)] + spec.seed / 1000
    ours = 0.6 + noise if spec.method == "ngo" else 0.0
    accuracy = 50 + ours + (40 if spec.method == "ngo" and spec.gamma == 0.1 else 0)
    held = 0.9 if spec.gamma == BEST[spec.method] else 0.5
    held -= 0.5 * (spec.seed > 6)  # later seeds would choose otherwise
    row = {"run": spec.id, "step": 1, "diverged": False, "consensus_accuracy": accuracy / 100,
           "holdout_accuracy": held, "V": 1 / spec.gamma}  # fmt: skip
    return {**spec.values(), **row}


def with_overlay(folder, configs):
    """The config and the plan with the overlay of added seeds."""
    files = [*configs, folder / "decide-test.yaml"]
    config = read_config(files)
    return config, plan(config)


def seeds_of(planned, name):
    """The seeds of an experiment, and its distinct values of method and γ."""
    specs = planned.training[name]
    return sorted({spec.seed for spec in specs}), sorted({(s.method, s.gamma) for s in specs})
