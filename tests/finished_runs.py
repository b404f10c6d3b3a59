"""Finished runs that tests make up, and small campaigns on digits with an archive of theirs."""

import math
from pathlib import Path

import numpy as np
import yaml
from runs import run_in

from ngo.common import versions
from ngo.data.description import manifest_text
from ngo.data.loading import train_labels
from ngo.data.partition import Parts, parts_digest
from ngo.measures.measurement import MEASUREMENTS
from ngo.pipeline.archives.archive import collect
from ngo.pipeline.archives.finished_runs import FinishedRun, write_run
from ngo.pipeline.config import read_config
from ngo.pipeline.paths import REPOSITORY, RUNS
from ngo.pipeline.plan import plan
from ngo.training.results_version import results_version
from ngo.training.spec_checks import draw
from verdicts.members import write_archive

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


CLAIM = {"place": "Figure 1", "kind": "order", "from": "own", "quantity": "log_ratio", "below": 0}
SIDES = {"of": {"method": "ngo"}, "to": {"method": "gossip"}, "value": "V"}
CLAIMS = {
    "own-1": {**CLAIM, "says": "NGO agrees better", "where": {"topology": "ring"}, "with": SIDES},
    "own-2": {**CLAIM, "says": "NGO agrees worse", "where": {"topology": "ring"}, "with":
              {**SIDES, "of": SIDES["to"], "to": SIDES["of"]}},
}  # fmt: skip
ASKED = [{"asks": "Does NGO agree better?", "claims": {"own-1": "on the ring"}}]
FINDINGS = {"title": "Own", "questions": ASKED, "figure": "none", "topics": [
    {"title": "Agreement", "about": "Who agrees.", "claims": ["own-1", "own-2"]}]}  # fmt: skip
CASES = [
    {"method": ["gossip", "ngo"], "topology": "ring"},
    {"method": "gossip", "topology": "graph_file", "graph": "own/graph.edgelist"},
]


def good_archive(folder: Path, *, trained: bool = False, **config: object) -> Path:
    """The archive of a campaign of nine runs, made in ``folder``, the working directory.

    With ``trained`` its runs are not made up. ``config`` replaces values of the config.
    """
    (folder / "own").mkdir()
    (folder / "own/graph.edgelist").write_text("0 1\n1 2\n")
    (folder / "own/claims.yaml").write_text(yaml.safe_dump({"claims": CLAIMS}))
    (folder / "own/findings.yaml").write_text(yaml.safe_dump(FINDINGS))
    named = {"claims": "own/claims.yaml", "findings": "own/findings.yaml", "seeds": [0, 1, 2]}
    training = {"own": {"settings": ["tiny"], "compare": CASES}}
    configs, planned = campaign(folder, training=training, **{**named, **config})
    labels = train_labels("digits", folder)
    for spec in planned.runs.values():
        if trained:
            run_in(spec, folder / RUNS / spec.id)
        else:
            write_run(RUNS / spec.id, _made_up(spec, draw(spec, labels)))
    (folder / "results/data").mkdir()
    (folder / "results/data/digits.json").write_text(manifest_text("digits", len(labels)))
    write_archive(folder / "good.tar", collect(configs))
    return folder / "good.tar"


def _made_up(spec, parts):
    """A made-up run in which NGO agrees better than gossip."""
    run = made_up_run(spec, parts)
    if spec.method == "ngo":
        run.columns["V"][:] *= 0.01 * (1 + 0.1 * spec.seed)
        run.record["final"]["V"] = float(run.columns["V"][-1])
    return run
