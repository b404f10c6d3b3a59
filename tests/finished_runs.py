"""Finished runs that tests make up, and a small campaign on digits that they train."""

import math
from pathlib import Path

import numpy as np
import yaml

from ngo.common import versions
from ngo.data.partition import Parts, parts_digest
from ngo.measures.measurement import MEASUREMENTS
from ngo.pipeline.archives.finished_runs import FinishedRun
from ngo.pipeline.config import read_config
from ngo.pipeline.paths import REPOSITORY
from ngo.pipeline.plan import plan
from ngo.training.results_version import results_version

CAMPAIGN = {
    "tier": "test",
    "device": "cpu",
    "seeds": [0, 1],
    "settings": {
        "tiny": {"dataset": "digits", "model": "mnist_cnn", "partition": "iid", "epochs": 0.2,
                 "eval_every": 0.1, "batch_size": 16, "workers": 3, "gamma": 0.2},
    },
    "training": {
        "own": {"settings": ["tiny"], "compare": [{"method": ["gossip", "ngo"],
                                                   "topology": "ring"}]},
    },
}  # fmt: skip


def made_up_run(spec, parts: Parts = (), *, rows=3, **record):
    """A finished run with random metrics and special values, as if this code had made it."""
    generator = np.random.default_rng(spec.seed)
    steps = 10 * np.arange(rows)
    names = ("V", "consensus_accuracy", "consensus_loss", "workers_loss_mean")
    columns = {"step": steps, "epoch": steps / 10}
    columns |= {name: generator.random(rows) for name in names}
    columns["holdout_loss"] = np.array([math.nan, -math.nan, math.inf][:rows])
    columns["diverged"] = np.zeros(rows, bool)
    final = {name: float(column[-1]) for name, column in columns.items()}
    about = {
        "run": spec.id, "version": "1", "code": results_version(spec), "torch": "2.0",
        "device": "cpu (x86_64, linux)", "instructions": "AVX2", "kernels": "kernels-1",
        "snapshots": [], "parts": parts_digest(parts), "distributed": None,
        "test_samples": 360,
    }  # fmt: skip
    final = {name: value if math.isfinite(value) else None for name, value in final.items()}
    made = {
        "id": spec.id, "spec": spec.values(), "seed": spec.seed, "parameters": 10,
        "train_samples": 1437, "classes_covered": 10, "final": final, "about": about,
        "processor": "One", "source": "0123abc", "started": "2026-01-02T03:04:05+00:00",
        "versions": {"ngo": "0.1.0", "python": "3.11.7", **versions.installed()},
        "wall_seconds": 61.0, "evaluation_seconds": [0.5 + row for row in range(rows)],
    }  # fmt: skip
    return FinishedRun({**made, **record}, columns)


def campaign(folder: Path, **changes: object):
    """The config files of a small campaign in ``folder``, and its plan."""
    for name in ("config", "workflow"):
        if not (folder / name).exists():
            (folder / name).symlink_to(REPOSITORY / name)
    if not (folder / "Snakefile").exists():
        (folder / "Snakefile").write_bytes((REPOSITORY / "Snakefile").read_bytes())
    base = read_config([REPOSITORY / "config/config.yaml"])
    small = {**base, **CAMPAIGN, **changes}
    for kind in ("training", "partitions", *MEASUREMENTS):  # it leaves out what is not its own
        own = {**CAMPAIGN, **changes}.get(kind, {})
        small[kind] = {**dict.fromkeys(base.get(kind, {})), **own}
    (folder / "config.yaml").write_text(yaml.safe_dump(small))
    configs = [folder / "config.yaml"]
    return configs, plan(read_config(configs))
