"""What each method sends: as it states, as a simulation counts it, and as processes sent it."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ngo.bench.commands import seconds_of
from ngo.bench.costs import Bench, Target
from ngo.gossip.traffic import sent
from ngo.training.resolve import resolve

# Fields of a run, by the name of the row.
RUNS: Mapping[str, Mapping[str, object]] = {
    "gossip": {},
    "dsgd": {},
    "ngo": {},
    "ngo, capped": {"coupling": "capped"},
    "ngo, implicit": {"coupling": "implicit", "topology": "alternating_matching"},
    "delayed": {"delay": 2},
    "local_sgd": {"local_steps": 4},
    "d2": {},
    "exact_diffusion": {},
    "gradient_tracking": {},
    "quasi_global": {},
    "push_sum": {"topology": "one_peer_exponential"},
    "relay_sum": {"topology": "chain"},
    "choco, none": {"compression": "none"},
    "choco, top_k": {"compression": "top_k"},
    "choco, random_k": {"compression": "random_k"},
    "choco, sign": {"compression": "sign"},
    "choco, qsgd": {"compression": "qsgd"},
}

COMMON = {
    "dataset": "digits",
    "topology": "ring",
    "batch_size": 32,
    "epochs": 1,
    "lr": 0.02,
}


def traffic(processes: int = 4) -> Bench:
    """One epoch on scikit-learn's digits with each method, one worker per process."""
    rows, targets = [], []
    for way in RUNS:
        run = fields_of(way, processes)
        simulated = _record(run)
        distributed = _record(run, "--distributed", "--processes", str(processes))
        sizes = sent(resolve(run), simulated["parameters"])
        counted = simulated["final"]["bytes_sent"]
        crossed = distributed["distributed"]["evaluations"][-1]["bytes_sent"]
        rows.append(
            {
                "method": way,
                "topology": run["topology"],
                "sends": " + ".join(f"{size:,}" for size in sizes),
                "messages": simulated["final"]["messages"],
                "simulated_bytes": counted,
                "process_bytes": crossed,
            }
        )
        targets.append(Target(f"{way}: bytes apart, share", abs(crossed / counted - 1), 0))
    return Bench(rows, targets)


def fields_of(way: str, workers: int) -> dict[str, object]:
    """The fields of the run of a row."""
    return {**COMMON, "method": way.partition(",")[0], "workers": workers, **RUNS[way]}


def _record(values: Mapping[str, object], *options: str) -> dict:
    """The run.json of ``ngo train`` with these values and options."""
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "ngo", "train", *flags, *options]
        seconds_of([*command, "--device", "cpu", "--out", folder])
        return json.loads((Path(folder) / "run.json").read_text("utf-8"))
